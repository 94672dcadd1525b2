package rollout

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/rl"
)

// captureSeparator separates the captures of an anchor pattern: a control
// character that no board or page contains.
const captureSeparator = "\x1f"

// anchorOf returns the key of the state that s is in. Raw is the
// environment's own observation.
func (c *Collector) anchorOf(s *slot, raw string) string {
	switch c.cfg.Anchor {
	case AnchorMessages:
		return s.chain.extend(s.t.Messages)
	case AnchorText:
		raw = s.text
	}
	if c.anchor != nil {
		raw = captures(c.anchor.FindStringSubmatch(raw), raw)
	}
	if !utf8.ValidString(raw) {
		return "hex:" + hex.EncodeToString([]byte(raw)) // files hold UTF-8, and keys must survive them
	}
	return raw
}

// captures reduces an observation to what a pattern captured of it.
func captures(match []string, whole string) string {
	switch len(match) {
	case 0:
		return whole
	case 1:
		return match[0]
	}
	return strings.Join(match[1:], captureSeparator)
}

// chain is the running hash of a conversation: each link covers the link
// before it and the new messages, so an episode costs O(messages).
type chain struct {
	link [sha256.Size]byte
	seen int // messages that link covers
}

func (c *chain) extend(messages []rl.Message) string {
	h := sha256.New()
	h.Write(c.link[:])
	field := func(s string) {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(s))))
		h.Write([]byte(s))
	}
	for _, m := range messages[c.seen:] {
		field(m.Role)
		field(m.Content.Text())
		field(string(m.Content.Parts()))
		for _, call := range m.ToolCalls {
			field(call.Function.Name)
			field(call.Function.Arguments)
		}
	}
	h.Sum(c.link[:0])
	c.seen = len(messages)
	return hex.EncodeToString(c.link[:])
}
