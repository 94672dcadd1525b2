package prompt

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/reward"
)

// Journal keeps what models said, in the order in which the search asks, so that
// a search that was stopped goes on without asking again.
type Journal interface {
	// Next returns the next entry that was kept by an earlier process, until
	// there is none.
	Next() (e Entry, ok bool, err error)
	// Append keeps another entry. It survives the death of this process.
	Append(e Entry) error
	// Sync makes what was appended survive a loss of power.
	Sync() error
}

// Use is what a model was asked for.
type Use string

// The closed set of uses.
const (
	UsePlay       Use = "play"
	UseCritique   Use = "critique"
	UseEdit       Use = "edit"
	UseParaphrase Use = "paraphrase"
)

// Entry is one answer of a model, and of a play what it was worth. A search
// looks at nothing else of what models and rewards do.
type Entry struct {
	Key  string `json:"key"` // digest of all that decides the answer
	Use  Use    `json:"use"`
	Text string `json:"text"`
	Cut  bool   `json:"cut,omitempty"`
	// Refused says why the question has no answer although the model works: it is too
	// long, or a filter refuses it.
	Refused string         `json:"refused,omitempty"`
	Usage   Usage          `json:"usage"`
	Outcome reward.Outcome `json:"outcome,omitempty"` // of a play
	Score   *float64       `json:"score,omitempty"`   // there only if Outcome is scored
	Reason  string         `json:"reason,omitempty"`  // of the reward
}

// digest names what a call is about.
func digest(parts ...any) (string, error) {
	text, err := json.Marshal(parts)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// clip is a stranger's text as it is kept: whole characters, at most n bytes.
func clip(text string, n int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
