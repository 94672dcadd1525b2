// Package prompting gives a search for prompts its models: ones behind an
// OpenAI-compatible API.
package prompting

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/models/chat"
	"github.com/merit-rl/merit/internal/prompt"
)

// Config is a model behind a server, and how it is sampled.
type Config struct {
	prompt.Sampling `yaml:",inline"`
	// Server says which model it is, and how much it may be asked.
	Server chat.Config `yaml:"server" json:"server"`
}

// SetDefaults is called for a section that is there before it is read.
func (c *Config) SetDefaults() {
	*c = Config{Sampling: prompt.Sampling{Temperature: 1, MaxTokens: 1024}, Server: chat.DefaultConfig()}
}

// Validate returns every problem of c, with key paths relative to the section.
func (c Config) Validate() []error { return fault.Validate(&c) }

func under(err error) error {
	f := fault.As(err)
	if f == nil {
		return err
	}
	named := *f
	named.Where = "server." + f.Where
	return &named
}

// Identity is all that decides what the model answers. As in cassettes the host
// decides nothing: a model is who it is wherever it is served.
func (c Config) Identity() (string, error) {
	text, err := json.Marshal([]any{c.Server.Model, c.Server.Extra})
	return string(text), err
}

// Model is a model with a connection, which Close ends.
type Model struct {
	client *chat.Client
	object *chat.Schema
}

var _ prompt.Model = (*Model)(nil)

// Open returns the model of c. It asks nobody yet. Getenv looks up the API key.
func Open(c Config, getenv func(string) string) (*Model, error) {
	if c.Server.Lookup == nil && getenv != nil {
		c.Server.Lookup = func(name string) (string, bool) { value := getenv(name); return value, value != "" }
	}
	client, err := chat.New(c.Server)
	if err != nil {
		var problems []error
		for _, problem := range fault.Leaves(err) {
			problems = append(problems, under(problem))
		}
		return nil, errors.Join(problems...)
	}
	object, err := chat.NewSchema(json.RawMessage(`{"type":"object"}`))
	return &Model{client, object}, err
}

// Close ends idle connections.
func (m *Model) Close() error {
	m.client.Close()
	return nil
}

// Check asks the server whether it has the model, so that a wrong address is
// known before anything else is done.
func (m *Model) Check(ctx context.Context) error {
	_, err := m.client.Served(ctx)
	return err
}

// Ask implements prompt.Model.
func (m *Model) Ask(ctx context.Context, q prompt.Question) (prompt.Answer, error) {
	r, err := m.client.Complete(ctx, chat.Request{
		Messages: q.Messages, Schema: q.Schema, Temperature: &q.Temperature, MaxTokens: q.MaxTokens, Seed: &q.Seed,
	})
	switch {
	case errors.Is(err, chat.ErrContext), errors.Is(err, chat.ErrFilter):
		return prompt.Answer{Refused: err.Error()}, nil
	case err != nil:
		return prompt.Answer{}, err
	}
	a := prompt.Answer{
		Text: cmp.Or(r.Text, r.Refusal), Cut: r.Finish == chat.FinishLength,
		Usage: prompt.Usage{PromptTokens: int64(r.Usage.Prompt), CompletionTokens: int64(r.Usage.Completion)},
	}
	if r.Finish == chat.FinishFilter {
		a.Refused = "a content filter cut the answer"
	}
	if q.Schema != nil {
		// Only the object is looked for here: the search says best what is wrong in it.
		if found, _, err := m.object.Parse(r.Text); err == nil {
			a.JSON = found
		}
	}
	return a, nil
}
