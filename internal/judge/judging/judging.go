// Package judging gives a judge its model: one behind an OpenAI-compatible
// API.
package judging

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/judge"
	"github.com/merit-rl/merit/internal/models/chat"
)

// Config is a judge and the server that it asks.
type Config struct {
	judge.Config `yaml:",inline"`
	// Server says which model judges, and how much it may be asked.
	Server chat.Config `yaml:"server" json:"server"`
}

// DefaultConfig ranks whole groups by RULER's rubric. It lacks a server.
func DefaultConfig() Config {
	return Config{Config: judge.DefaultConfig(), Server: chat.DefaultConfig()}
}

// SetDefaults is called for a section that is there before it is read.
func (c *Config) SetDefaults() { *c = DefaultConfig() }

// Validate returns every problem of c, with key paths relative to the section.
func (c Config) Validate() []error { return fault.Validate(&c) }

// EachPath replaces every path in c.
func (c *Config) EachPath(replace func(string) string) {
	for _, path := range []*string{&c.RubricFile, &c.Cache, &c.Server.Cassettes.Dir} {
		if *path != "" {
			*path = replace(*path)
		}
	}
}

// Options are what a judge needs of the program.
type Options struct {
	Getenv   func(string) string // where the API key is looked up
	Log      *slog.Logger
	Reversed bool // shows members in the reverse order
}

// Judge is a judge with a connection, which Close ends.
type Judge struct {
	*judge.Judge
	client *chat.Client
	kept   bool // answers are kept in a folder
	log    *slog.Logger
}

// Open returns the judge of c. It asks nobody yet.
func Open(c Config, o Options) (*Judge, error) {
	asker, err := chat.NewAsker(c.Server, o.Getenv)
	if err != nil {
		return nil, err
	}
	identity, err := c.Server.Identity()
	if err != nil {
		return nil, err
	}
	j, err := judge.New(c.Config, model{asker}, judge.Options{
		Identity: identity, InFlight: c.Server.MaxConcurrent, Reversed: o.Reversed, Log: o.Log,
	})
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Judge{j, asker.Client, c.Cache != "", o.Log}, err
}

// Ready asks the server for the model: whether it is there, accepts the key and
// has the model. A judge that keeps its answers in a folder may do without its
// server, so one that is only out of reach is then no error.
func (j *Judge) Ready(ctx context.Context) error {
	_, err := j.client.Served(ctx)
	if j.kept && fault.Retryable(err) && ctx.Err() == nil {
		j.log.Warn("the judge's server is out of reach; its kept answers are used", "err", err)
		return nil
	}
	return err
}

// Totals returns what the judge was asked so far, and what that cost: tokens of
// every request, with those of answers that were refused or asked for again.
func (j *Judge) Totals() judge.Totals {
	t, used := j.Judge.Totals(), j.client.Totals()
	t.Usage = judge.Usage{PromptTokens: used.Tokens.Prompt, CompletionTokens: used.Tokens.Completion, Cost: used.Cost}
	return t
}

// Asked implements reward.Asker.
func (j *Judge) Asked() (judge.Totals, bool) { return j.Totals(), true }

// Close ends idle connections.
func (j *Judge) Close() error {
	j.client.Close()
	return nil
}

// told marks the errors that are about a question, and those after which no
// question is answered. Any other means that the judge is away. Who writes a
// question must not get rid of a bad score by one that no judge takes.
func told(err error) error {
	var why error
	switch {
	case errors.Is(err, chat.ErrBudget), errors.Is(err, chat.ErrClient):
		why = judge.ErrClosed
	case errors.Is(err, chat.ErrContext):
		why = judge.ErrTooLong
	case errors.Is(err, chat.ErrFilter):
		why = judge.ErrUnusable
	}
	f := fault.As(err)
	if f == nil || why == nil {
		return err
	}
	named := *f
	named.Err = fmt.Errorf("%w: %w", why, f.Err)
	return &named
}

// model is a chat client as a judge asks it.
type model struct{ *chat.Asker }

// Ask implements judge.Model.
func (m model) Ask(ctx context.Context, q judge.Question) (judge.Answer, error) {
	a, err := m.Asker.Ask(ctx, q)
	return a, told(err)
}
