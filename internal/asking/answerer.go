// Package asking lets rewards in the sandbox ask a language model while they score. A
// configuration grants it to one reward, with limits. Answers are kept by the digests of the
// questions, so that the same evaluation always gets the same answers. A question without an
// answer is an outcome, never the score 0.
package asking

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/judge"
	"github.com/merit-rl/merit/internal/judge/judging"
	"github.com/merit-rl/merit/internal/models/answers"
	"github.com/merit-rl/merit/internal/models/chat"
	"github.com/merit-rl/merit/internal/wire/replykind"
)

// abi is the version of questions and replies.
const abi = "ask/1"

// attempts is how often a question with a schema is put: after an answer that does not fit,
// once more, with what was wrong.
const attempts = 2

// Answerer answers the questions of one reward. It implements reward.Answerer.
type Answerer struct {
	cfg      Config
	model    chat.Model
	identity string // of the model
	client   *chat.Client
	inFlight int
	cache    *answers.Cache
	log      *slog.Logger
	calls    calls

	mu     sync.Mutex
	totals reward.Asked
}

var _ reward.Answerer = (*Answerer)(nil)

// Options hold what an answerer needs from the program.
type Options struct {
	Getenv func(string) string // looks up the API key
	Log    *slog.Logger
}

// Open returns the answerer of c. It sends no request.
func Open(c Config, o Options) (*Answerer, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	a := &Answerer{cfg: c, cache: answers.New(c.Cache, o.Log), log: o.Log}
	if c.Server == nil {
		f, err := readFake(c.Answers)
		if err != nil {
			return nil, err
		}
		a.model, a.identity = f, f.identity
		return a, a.replay()
	}
	asker, err := chat.NewAsker(*c.Server, o.Getenv)
	if err != nil {
		return nil, err
	}
	if a.identity, err = c.Server.Identity(); err != nil {
		return nil, err
	}
	a.model, a.client, a.inFlight = judging.NewModel(asker), asker.Client, c.Server.MaxConcurrent
	return a, a.replay()
}

// replay keeps the recorded answers, if there are any.
func (a *Answerer) replay() error {
	for key, e := range a.cfg.recorded {
		a.cache.Keep(key, e)
	}
	return nil
}

// Identity implements reward.Answerer.
func (a *Answerer) Identity() string {
	c := &a.cfg
	what := []any{abi, a.identity, c.Calls, c.Tokens, c.MaxTokens, c.MaxChars, c.Seed, c.Temperature}
	if c.Cost > 0 {
		what = append(what, c.Cost, c.price())
	}
	text, _ := json.Marshal(what) // texts and numbers always marshal
	return string(text)
}

// InFlight implements reward.Answerer.
func (a *Answerer) InFlight() int { return a.inFlight }

// Begin implements reward.Answerer.
func (a *Answerer) Begin() reward.Asking { return &evaluation{answerer: a} }

// Record makes the answerer keep every answer in the folder dir, too, and count its questions
// there: those of earlier processes count. The number n of the grant tells its count from those
// of others.
func (a *Answerer) Record(dir string, n int) error {
	a.cache.Also(dir)
	return a.calls.keep(dir, n)
}

// Asked implements reward.Answerer.
func (a *Answerer) Asked() reward.Asked {
	a.mu.Lock()
	t := a.totals
	a.mu.Unlock()
	if a.client != nil {
		used := a.client.Totals()
		t.Usage = reward.Usage{PromptTokens: used.Tokens.Prompt, CompletionTokens: used.Tokens.Completion, Cost: used.Cost}
	}
	return t
}

func (a *Answerer) count(change func(*reward.Asked)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change(&a.totals)
}

// Ready checks that the server responds, accepts the key and has the model. With a folder of
// answers the server may be unreachable.
func (a *Answerer) Ready(ctx context.Context) error {
	if a.client == nil || a.cfg.recorded != nil {
		return nil
	}
	_, err := a.client.Served(ctx)
	if a.cfg.Cache != "" && fault.Retryable(err) && ctx.Err() == nil {
		a.log.Warn("the model that a reward asks is unreachable; using kept answers", "err", err)
		return nil
	}
	return err
}

// Close closes idle connections and the count.
func (a *Answerer) Close() error {
	if a.client != nil {
		a.client.Close()
	}
	return a.calls.Close()
}

// answer returns the kept answer to q, or asks the model.
func (a *Answerer) answer(ctx context.Context, q *asked) (key string, e answers.Entry, err error) {
	key, err = answers.Key(abi, a.identity, q.Question)
	if err != nil {
		return key, e, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, a.cfg.Timeout, &fault.Error{
		Boundary: fault.Model, Kind: fault.Timeout, What: fmt.Sprintf("no answer within %v", a.cfg.Timeout), Hint: "raise ask.timeout, or use a faster model", Retry: true,
	})
	defer cancel()
	usable := func(e answers.Entry) bool {
		_, problem := fitting(q, e.Answer)
		return e.Failure != "" || problem == ""
	}
	e, cached, err := a.cache.Get(ctx, key, usable, func() (answers.Entry, error) { return a.ask(ctx, key, q) })
	a.count(func(t *reward.Asked) {
		if t.Questions++; cached {
			t.Cached++
		}
	})
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = context.Cause(ctx)
	}
	return key, e, err
}

// ask puts q to the model until its answer fits. What the model will never answer is an entry
// with a failure.
func (a *Answerer) ask(ctx context.Context, key string, q *asked) (e answers.Entry, err error) {
	if a.cfg.recorded != nil {
		return unrecorded(), nil
	}
	if err := a.calls.one(key, a.cfg.RunCalls); err != nil {
		return e, err
	}
	problem := ""
	for put := q.Question; e.Attempts < attempts; {
		if e.Attempts > 0 {
			put = q.again(e.Answer, problem)
			a.count(func(t *reward.Asked) { t.Retried++ })
		}
		said, err := a.model.Ask(ctx, put)
		e.Attempts++
		switch {
		case errors.Is(err, judge.ErrTooLong):
			return failed(e, replykind.TooLong, err.Error()), nil
		case errors.Is(err, judge.ErrUnusable), err == nil && said.Filtered:
			return failed(e, replykind.Declined, "a content filter refused the question or the answer"), nil
		case err != nil:
			return e, err
		case said.Refused:
			return failed(e, replykind.Declined, "the model refuses: "+clean(said.Text, 500)), nil
		}
		said.Usage = reward.Usage{} // the same text must give the same bytes, however a server counts
		said.Model = clean(said.Model, 200)
		e.Answer = said
		if e.Answer.Text, problem = fitting(q, said); problem == "" {
			e.Answer.JSON = nil
			return e, nil
		}
		e.Answer.Text = said.Text
	}
	return failed(e, replykind.Unusable, problem), nil
}

func failed(e answers.Entry, kind replykind.Kind, why string) answers.Entry {
	e.Failure, e.Answer = string(kind), chat.Answer{Text: clean(why, 1000), Model: e.Answer.Model}
	return e
}

// fitting returns the answer in the form that the guest reads, or says why it cannot be used.
func fitting(q *asked, said chat.Answer) (text, problem string) {
	text = strings.ToValidUTF8(said.Text, "\uFFFD")
	if len(text) > answers.MaxAnswer {
		return "", fmt.Sprintf("the answer has %d bytes; at most %d are read", len(text), answers.MaxAnswer)
	}
	if q.schema == nil {
		if strings.TrimSpace(text) == "" {
			return "", "the answer is empty"
		}
		return text, ""
	}
	value, _, err := q.schema.Parse(text)
	if err != nil {
		if said.Cut {
			return "", "it was cut at the limit of tokens"
		}
		return "", err.Error()
	}
	var b bytes.Buffer
	if err := json.Compact(&b, value); err != nil {
		return "", err.Error()
	}
	return b.String(), ""
}
