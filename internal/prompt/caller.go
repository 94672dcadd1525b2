package prompt

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/models/chat"
)

// call is a question, and if it is a play the task that it is about.
type call struct {
	use  Use
	q    Question
	task *rl.Task
	key  string // digest
	id   string // of the trajectory
}

// errBudget ends a search, and is no failure.
var errBudget = errors.New("the budget is used up")

// caller asks models, by the journal first, and counts.
type caller struct {
	settings *Settings
	spent    Spent
	plays    Spent // of spent, those of plays
	reserve  int   // calls that are kept back
	must     bool  // what was kept back is being spent
	live     bool  // the journal has nothing more
}

// ask returns the answers to calls, in their order. Either all are affordable
// or none is made.
func (c *caller) ask(ctx context.Context, calls []call, tell func(done int)) ([]Entry, error) {
	if !c.affords(len(calls)) {
		return nil, errBudget
	}
	out := make([]Entry, 0, len(calls))
	for !c.live && len(out) < len(calls) {
		e, ok, err := c.settings.Journal.Next()
		if err != nil {
			return nil, err
		}
		if c.live = !ok; ok {
			if want := calls[len(out)]; e.Key != want.key || e.Use != want.use {
				return nil, &fault.Error{
					Boundary: fault.Storage, Kind: fault.Corrupt, Where: fmt.Sprintf("journal, entry %d", c.spent.Calls), What: "answers another question than the one that is asked here",
					Hint: "start again in another directory; a search goes on only with the settings, tasks and version of Merit that it began with",
				}
			}
			out = append(out, e)
			c.count(e)
			tell(len(out))
		}
	}
	if len(out) == len(calls) {
		return out, nil
	}
	more, err := c.askNow(ctx, calls[len(out):], func(done int) { tell(len(out) + done) })
	if err := errors.Join(err, c.settings.Journal.Sync()); err != nil {
		return nil, err
	}
	return append(out, more...), nil
}

// askNow asks models, several at one time, and keeps each answer when all before
// it are kept: a journal is always the beginning of the whole.
func (c *caller) askNow(ctx context.Context, calls []call, tell func(done int)) ([]Entry, error) {
	out, done, errs := make([]Entry, len(calls)), make([]bool, len(calls)), make([]error, len(calls))
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	var next atomic.Int64
	var mu sync.Mutex
	var wg sync.WaitGroup
	kept := 0
	for range min(max(1, c.settings.Parallel), len(calls)) {
		wg.Go(func() {
			for inner.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(calls) {
					return
				}
				e, err := c.one(inner, &calls[i])
				mu.Lock()
				out[i], done[i], errs[i] = e, err == nil, err
				for err == nil && kept < len(calls) && done[kept] {
					if err = c.settings.Journal.Append(out[kept]); err != nil {
						errs[kept] = err
						break
					}
					c.count(out[kept])
					kept++
					tell(kept)
				}
				mu.Unlock()
				if err != nil {
					cancel()
				}
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, &fault.Error{Boundary: fault.CLI, Kind: fault.Interrupted, What: "the search was stopped", Err: context.Cause(ctx), Hint: "the same command goes on with it"}
	}
	return out, first(errs)
}

// first is the error that does not only say that another one came before it.
func first(errs []error) error {
	var stopped error
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, fault.Of("", fault.Interrupted)) {
			return err
		} else if stopped == nil {
			stopped = err
		}
	}
	return stopped
}

// one asks a model, and has a play scored.
func (c *caller) one(ctx context.Context, x *call) (Entry, error) {
	s := c.settings
	model := s.Editor
	if x.use == UsePlay {
		model = s.Model
	}
	a, err := model.Ask(ctx, x.q)
	refused := ""
	switch {
	case errors.Is(err, chat.ErrContext), errors.Is(err, chat.ErrFilter):
		refused = err.Error()
	case err != nil:
		return Entry{}, err
	case a.Filtered:
		refused = "a content filter cut the answer"
	}
	usage := Usage{a.Usage.PromptTokens, a.Usage.CompletionTokens}
	e := Entry{Key: x.key, Use: x.use, Text: clip(a.Text, maxAnswer), Cut: a.Cut, Refused: clip(refused, maxReason), Usage: usage}
	if a.JSON != nil {
		e.Text = clip(string(a.JSON), maxAnswer)
	}
	if x.use != UsePlay {
		return e, nil
	}
	if refused != "" {
		e.Outcome, e.Reason = reward.Infrastructure, e.Refused
		return e, nil
	}
	v := s.Score(ctx, played(x.id, x.q.Messages, e.Text, x.task))
	if e.Outcome, e.Reason = v.Outcome, clip(v.Reason, maxReason); v.Outcome == reward.Scored {
		score := v.Result.Score
		e.Score, e.Reason = &score, clip(v.Result.Reason, maxReason)
	}
	return e, ctx.Err()
}

func (c *caller) count(e Entry) {
	add := func(s *Spent) {
		s.Calls++
		s.PromptTokens += e.Usage.PromptTokens
		s.CompletionTokens += e.Usage.CompletionTokens
	}
	if add(&c.spent); e.Use == UsePlay {
		add(&c.plays)
	}
}

// affords reports whether n more calls leave what is kept back. Tokens are
// judged by the mean of what calls took so far.
func (c *caller) affords(n int) bool {
	b := c.settings.Budget
	switch {
	case c.must:
		return true
	case b.Calls > 0 && c.spent.Calls+n+c.reserve > b.Calls:
		return false
	case b.Tokens == 0 || c.spent.Calls == 0:
		return true
	}
	expected := mean(c.spent)*float64(n) + mean(c.plays)*float64(c.reserve)
	return float64(c.spent.Tokens())+expected <= float64(b.Tokens)
}

func mean(s Spent) float64 { return float64(s.Tokens()) / float64(max(1, s.Calls)) }
