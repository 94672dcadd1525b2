package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
)

// Model answers questions one by one, as an Asker does. It is safe for concurrent
// use. Its errors are *fault.Error of the boundary fault.Model; it has tried again
// what was worth it.
type Model interface {
	Ask(ctx context.Context, q Question) (Answer, error)
}

// Question is one request. Equal questions are equal bytes of JSON.
type Question struct {
	Messages    []rl.Message    `json:"messages"`
	Schema      json.RawMessage `json:"schema,omitempty"` // JSON Schema that the answer must fit; nil = any text
	Seed        int64           `json:"seed"`             // 0 … 2³¹−1
	Temperature float64         `json:"temperature"`
	MaxTokens   int             `json:"max_tokens"`
}

// Answer is what a model said.
type Answer struct {
	Text string `json:"text"`
	// JSON is the document that was found in Text where a schema was asked for.
	JSON     json.RawMessage `json:"json,omitempty"`
	Cut      bool            `json:"cut,omitempty"` // it ended at Question.MaxTokens
	Model    string          `json:"model,omitempty"`
	Usage    reward.Usage    `json:"usage"`
	Filtered bool            `json:"-"` // a content filter cut it
}

// Asker is a Model behind a server, for judges and for searches.
type Asker struct {
	*Client
	object *Schema
}

// NewAsker returns the Asker of c. It asks nobody yet. Getenv, if not nil, looks up
// the API key. The error joins everything that is wrong, with key paths below
// server.
func NewAsker(c Config, getenv func(string) string) (*Asker, error) {
	if c.Lookup == nil && getenv != nil {
		c.Lookup = func(name string) (string, bool) { value := getenv(name); return value, value != "" }
	}
	client, err := New(c)
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		var p fault.Problems
		p.Under("server", several.Unwrap())
		return nil, errors.Join(p...)
	} else if err != nil {
		return nil, err
	}
	object, err := NewSchema(json.RawMessage(`{"type":"object"}`))
	return &Asker{client, object}, err
}

// Identity is all that decides what the model of c answers. As in cassettes the host
// decides nothing: a model is who it is wherever it is served.
func (c Config) Identity() (string, error) {
	text, err := json.Marshal([]any{c.Model, c.Extra})
	return string(text), err
}

// Ask implements Model.
func (m *Asker) Ask(ctx context.Context, q Question) (Answer, error) {
	r, err := m.Complete(ctx, Request{Messages: q.Messages, Schema: q.Schema, Temperature: &q.Temperature, MaxTokens: q.MaxTokens, Seed: &q.Seed})
	if err != nil {
		return Answer{}, err
	}
	a := Answer{
		Text: cmp.Or(r.Text, r.Refusal), Cut: r.Finish == FinishLength, Model: r.Model, Filtered: r.Finish == FinishFilter,
		Usage: reward.Usage{PromptTokens: int64(r.Usage.Prompt), CompletionTokens: int64(r.Usage.Completion), Cost: r.Cost},
	}
	if q.Schema != nil {
		// Only the object is looked for here: who asks says best what is wrong in it.
		if found, _, err := m.object.Parse(r.Text); err == nil {
			a.JSON = found
		}
	}
	return a, nil
}
