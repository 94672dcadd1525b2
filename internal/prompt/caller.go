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

// call is a question; if it is a play, it includes the task.
type call struct {
	use  Use
	q    Question
	task *rl.Task
	key  string // digest
	id   string // id of the trajectory
}

// errBudget stops a search without being a failure.
var errBudget = errors.New("the budget is used up")

// caller returns answers from the journal, or asks models, and counts what is spent.
type caller struct {
	settings *Settings
	spent    Spent
	plays    Spent // the part of spent that plays used
	reserve  int   // calls that are reserved
	must     bool  // the reserve may be spent
	live     bool  // the journal is exhausted
}

// ask returns the answers to calls, in order. If the budget does not allow all of them, ask
// makes none.
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
					Boundary: fault.Storage, Kind: fault.Corrupt, Where: fmt.Sprintf("journal, entry %d", c.spent.Calls), What: "answers a different question than the one asked here",
					Hint: "start again in another directory; a search can be resumed only with the settings, tasks and version of Merit that it started with",
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

// askNow asks models concurrently and appends each answer to the journal only after all
// earlier ones, so that a journal is always a prefix of the complete one.
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
		return nil, &fault.Error{Boundary: fault.CLI, Kind: fault.Interrupted, What: "the search was stopped", Err: context.Cause(ctx), Hint: "run the same command again to resume it"}
	}
	return out, first(errs)
}

// first returns the first error that is not merely a consequence of another one.
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

// one asks a model and, for a play, scores the answer.
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

// affords reports whether the budget allows n more calls besides the reserve. It estimates
// tokens by the mean of the calls so far.
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
