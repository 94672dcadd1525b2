package prompt

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/reward"
)

// Journal stores the answers of models in the order of the search's questions, so that a
// stopped search resumes without repeating them.
type Journal interface {
	// Next returns the next entry written by an earlier process; ok is false after the last
	// one.
	Next() (e Entry, ok bool, err error)
	// Append stores another entry. The entry survives a crash of the process.
	Append(e Entry) error
	// Sync makes appended entries survive a power loss.
	Sync() error
}

// Use is the purpose of a call.
type Use string

// The uses.
const (
	UsePlay       Use = "play"
	UseCritique   Use = "critique"
	UseEdit       Use = "edit"
	UseParaphrase Use = "paraphrase"
)

// Entry is one answer of a model and, for a play, its evaluation. The search depends on
// nothing else that models and rewards do.
type Entry struct {
	Key  string `json:"key"` // digest of everything that determines the answer
	Use  Use    `json:"use"`
	Text string `json:"text"`
	Cut  bool   `json:"cut,omitempty"`
	// Refused says why the question has no answer although the model works: it is too long, or
	// a filter refused it.
	Refused string         `json:"refused,omitempty"`
	Usage   Usage          `json:"usage"`
	Outcome reward.Outcome `json:"outcome,omitempty"` // for a play
	Score   *float64       `json:"score,omitempty"`   // set only if Outcome is scored
	Reason  string         `json:"reason,omitempty"`  // from the reward
}

// digest returns the digest of parts.
func digest(parts ...any) (string, error) {
	text, err := json.Marshal(parts)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// clip returns untrusted text cut for storage: whole characters, at most n bytes.
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
