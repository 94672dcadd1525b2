package lineage

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"strings"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// Key is a digest of the first messages of a conversation.
type Key [16]byte

// With returns the key of texts in the scope of k.
func (k Key) With(texts ...string) Key {
	h := sha256.New()
	h.Write(k[:])
	for _, text := range texts {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(text)))
		h.Write(n[:])
		h.Write([]byte(text))
	}
	return Key(h.Sum(nil)[:16])
}

// chain returns the key of every prefix of a conversation.
func chain(scope Key, messages []rl.Message) []Key {
	keys := make([]Key, len(messages))
	for i := range messages {
		scope = scope.then(&messages[i])
		keys[i] = scope
	}
	return keys
}

// then returns the key of a conversation with one more message. It uses only the input
// of a model, because agents add names, nulls, lists of parts, and marks for a cache.
func (k Key) then(m *rl.Message) Key {
	text, others := input(m)
	texts := append([]string{m.Role, strings.TrimSpace(text), m.ToolCallID}, others...)
	for _, c := range m.ToolCalls {
		texts = append(texts, c.Function.Name, canonical(c.Function.Arguments))
	}
	return k.With(texts...)
}

// billing begins a block that Claude Code puts before its system prompt. Its fingerprint
// changes, and the API removes it.
const billing = "x-anthropic-billing-header:"

// input returns what a model reads of a message: the text, and the parts that are not
// text.
func input(m *rl.Message) (text string, others []string) {
	var parts []map[string]json.RawMessage
	if m.Content.Parts() == nil || strictjson.Unmarshal(m.Content.Parts(), &parts) != nil {
		return m.Content.Text(), nil
	}
	var b strings.Builder
	for _, p := range parts {
		var kind, words string
		_ = strictjson.Unmarshal(p["type"], &kind)
		_ = strictjson.Unmarshal(p["text"], &words)
		switch {
		case rl.SpeakingPart(kind):
			if !strings.HasPrefix(words, billing) {
				b.WriteString(words)
			}
		case kind == "thinking" || kind == "redacted_thinking" || kind == "reasoning":
		default:
			delete(p, "cache_control")
			raw, _ := json.Marshal(p) // valid JSON
			others = append(others, canonical(string(raw)))
		}
	}
	if b.Len() == 0 {
		return m.Content.Text(), others
	}
	return b.String(), others
}

// canonical returns one form of equal objects: clients write what a model wrote in another
// order and with other spaces. It leaves other texts unchanged.
func canonical(text string) string {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "{") {
		return text
	}
	return strictjson.Canonical(text)
}
