package optimize

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/cost"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/prompt"
)

// Cost is what language models used for a search, over all its processes, by the name of the
// model. Unlike the result, it counts retries and answers that a kill lost.
type Cost struct {
	Currency string      `json:"currency"` // of the prices
	Answers  cost.Models `json:"answers,omitempty"`
	Editor   cost.Models `json:"editor,omitempty"`
	Rewards  cost.Models `json:"rewards,omitempty"` // judges, rubrics and questions of rewards
}

// Plus returns the sum of c and other, in the currency of c.
func (c Cost) Plus(other Cost) Cost {
	return Cost{c.Currency, c.Answers.Plus(other.Answers), c.Editor.Plus(other.Editor), c.Rewards.Plus(other.Rewards)}
}

// Total returns the usage of each model.
func (c Cost) Total() cost.Models { return c.Answers.Plus(c.Editor).Plus(c.Rewards) }

// ReadCost reads what the search in dir used so far.
func ReadCost(dir string) (c Cost, err error) {
	path := filepath.Join(dir, CostFile)
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c, nil
	case err != nil:
		return c, storage(path, "cannot be read", err)
	}
	if err := strictjson.Unmarshal(text, &c); err != nil {
		return c, &fault.Error{Boundary: fault.Storage, Kind: fault.Corrupt, Where: path, What: "is not what a search used", Err: err, Hint: "restore the file, or remove it to count from 0"}
	}
	return c, nil
}

// spending counts what models use for a search, and keeps it in the folder.
type spending struct {
	currency                 string
	answers, editor, rewards cost.Meter

	mu     sync.Mutex
	dir    string
	before Cost // by earlier processes
}

// open reads what earlier processes used.
func (s *spending) open(dir string) (err error) {
	s.before, err = ReadCost(dir)
	s.dir = dir
	return err
}

// save writes the sum of all processes.
func (s *spending) save() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := Cost{s.currency, s.answers.Models(), s.editor.Models(), s.rewards.Models()}.Plus(s.before)
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return WriteFile(s.dir, CostFile, append(text, '\n'))
}

// metered counts what the questions to a model use.
type metered struct {
	prompt.Model
	meter *cost.Meter
}

// Ask implements prompt.Model.
func (m metered) Ask(ctx context.Context, q prompt.Question) (prompt.Answer, error) {
	return m.Model.Ask(cost.With(ctx, m.meter), q)
}
