package openai

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/action"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/models/chattest"
	"github.com/merit-rl/merit/sdk/merit"
	_ "github.com/merit-rl/merit/sdk/merit/standard"
)

// The tests of this file are rollouts of the whole: collector, host, the
// processes of this plug-in and of grid, a server, and a reward.

var binaries string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "merit-openai-test-")
	if err != nil {
		panic(err)
	}
	binaries = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

var built = sync.OnceValues(func() (text string, err error) {
	cmd := exec.Command("go", "build", "-o", binaries, "./plugins/openai", "./plugins/grid")
	cmd.Dir = testneeds.Root()
	out, err := cmd.CombinedOutput()
	return string(out), err
})

// rollout is what was played: one line of JSON for each episode.
type rollout struct {
	*merit.Rollout
	episodes []*rl.Trajectory
	lines    []string
}

type options = map[string]any

// play plays three groups of four walks on the grid; options are the plug-in's,
// beside a client that does not wait between its one retry.
func play(t testing.TB, url string, o options, change ...func(*merit.Config)) (r rollout, err error) {
	text, err := built()
	require.NoError(t, err, text)
	cfg := merit.DefaultConfig()
	cfg.Environment.Plugin, cfg.Environment.Slots = filepath.Join(binaries, "grid"), 3
	cfg.Rollout.Groups, cfg.Rollout.Members, cfg.Rollout.Parallel, cfg.Rollout.Retries = 3, 4, 2, 1
	cfg.Rollout.Action.Parse = action.Choice
	cfg.Align.MaxUnscored = 1
	cfg.Policy.Plugin = filepath.Join(binaries, "openai")
	cfg.Policy.Options = options{"url": url, "model": "small", "retries": 1, "backoff": "1ms", "log_probs": true, "max_tokens": 8}
	maps.Copy(cfg.Policy.Options, o)
	for _, c := range change {
		c(cfg)
	}
	s, err := merit.Open(t.Context(), cfg, merit.WithScorer(arrived{}, 1))
	if err != nil {
		return r, err
	}
	defer func() { require.NoError(t, s.Close()) }()
	r.Rollout, err = s.Rollout(t.Context(), merit.RolloutOptions{}, func(e *rl.Trajectory) error {
		line, err := json.Marshal(e)
		r.episodes, r.lines = append(r.episodes, e), append(r.lines, string(line))
		return err
	})
	return r, err
}

// arrived is the reward: 1 at the goal.
type arrived struct{}

func (arrived) Info() reward.Info {
	return reward.Info{Name: "arrived", StepIndexing: reward.ByAssistant}
}

func (arrived) Evaluate(_ context.Context, e *rl.Trajectory) reward.Evaluation {
	out := reward.Evaluation{Outcome: reward.Scored, Result: rl.EvaluateResult{IsScoreValid: true}}
	if e.StopReason == rl.StopTerminated {
		out.Result.Score = 1
	}
	return out
}

// walk is a model that says a move, or something else, as its seed has it.
func walk(t testing.TB, c chattest.Call) chattest.Reply {
	words := []string{"north", "I go east.", "south", "west", "north or south", ""}
	return chattest.Answer{Text: words[seedOf(t, c)%len(words)], Tokens: []rl.Token{{ID: 1, LogProb: -0.5}, {ID: 2, LogProb: -1.5}}, Prompt: 20}.Reply()
}

func seedOf(t testing.TB, c chattest.Call) (seed int) {
	c.Field(t, "seed", &seed)
	return seed
}

// unlucky says which requests a server has something against: those of some
// episodes, at any parallelism.
func unlucky(t testing.TB, c chattest.Call) bool { return seedOf(t, c)%11 == 3 }

// Promise: a rollout has the same bytes at any parallelism, with a barrier and
// without, whenever the answers come; silence and babble are invalid actions.
func TestSameBytes(t *testing.T) {
	testneeds.NotShort(t)
	s := serve(t, func(c chattest.Call) chattest.Reply { return walk(t, c) })
	want, err := play(t, s.URL, nil)
	require.NoError(t, err)
	require.Equal(t, map[string]int{string(reward.Scored): 12}, want.Outcomes)
	valid := map[bool]int{}
	for _, e := range want.episodes {
		for _, step := range e.Steps {
			valid[step.ActionValid]++
			require.Equal(t, []rl.Token{{ID: 1, LogProb: -0.5}, {ID: 2, LogProb: -1.5}}, step.Tokens)
			require.Equal(t, -2.0, step.LogProb)
		}
	}
	require.Positive(t, valid[true])
	require.Positive(t, valid[false])

	uneven := serve(t, func(c chattest.Call) chattest.Reply {
		r := walk(t, c)
		r.Latency = chattest.HeavyTail(time.Millisecond, 5, c.Number)
		return r
	})
	for _, inFlight := range []int{1, 5, 100} {
		got, err := play(t, uneven.URL, options{"max_concurrent": 1 + inFlight/2}, func(c *merit.Config) {
			c.Rollout.InFlight, c.Rollout.Parallel, c.Environment.Slots = inFlight, 1+inFlight%2, 1+inFlight%7
		})
		require.NoError(t, err)
		require.Equal(t, want.lines, got.lines)
	}
}

// Promise: what is recorded is replayed without a server, byte for byte, at any
// parallelism, what the context had no room for among it.
func TestReplay(t *testing.T) {
	testneeds.NotShort(t)
	s := serve(t, func(c chattest.Call) chattest.Reply {
		if unlucky(t, c) {
			return chattest.Fail(400, "exceed_context_size_error", "too long")
		}
		return walk(t, c)
	})
	cassettes := func(mode string) options { return options{"cassettes": options{"mode": mode, "dir": t.TempDir()}} }
	o := cassettes("record")
	want, err := play(t, s.URL, o)
	require.NoError(t, err)
	require.Positive(t, want.Stops[string(rl.StopContext)])
	asked := len(s.Calls())
	o["cassettes"].(options)["mode"] = "replay"
	for _, parallel := range []int{1, 3} {
		got, err := play(t, "http://127.0.0.1:1/v1", o, func(c *merit.Config) { c.Rollout.Parallel, c.Rollout.InFlight = parallel, parallel })
		require.NoError(t, err)
		require.Equal(t, want.lines, got.lines)
	}
	require.Len(t, s.Calls(), asked)

	_, err = play(t, "http://127.0.0.1:1/v1", cassettes("replay"))
	require.ErrorIs(t, err, fault.Of(fault.Storage, fault.Missing))
	require.Contains(t, fault.As(err).Hint, "cassettes.mode")
}

// played is an episode without its credit, which depends on the rest of its
// group.
func played(e *rl.Trajectory) *rl.Trajectory {
	same := *e
	same.Steps = slices.Clone(e.Steps)
	for i := range same.Steps {
		same.Steps[i].Credit = nil
	}
	return &same
}

// bad is everything that a server may do to a request.
var bad = map[string]struct {
	reply chattest.Reply
	says  string     // in the error of an episode …
	ends  fault.Kind // … or the whole rollout ends with this
	stops rl.StopReason
}{
	"429":                      {reply: chattest.Reply{Status: 429, Header: map[string]string{"Retry-After": "0.001"}}, says: "too many requests"},
	"429 for an hour":          {reply: chattest.Reply{Status: 429, Header: map[string]string{"Retry-After": "3600"}}, says: "asks to wait for 1h"},
	"500":                      {reply: chattest.Fail(500, "", "out of memory"), says: "500: out of memory"},
	"loading":                  {reply: chattest.Fail(503, "unavailable_error", "Loading model"), says: "still loading"},
	"no answer":                {reply: chattest.Reply{Drop: true}, says: "no answer came"},
	"half a JSON":              {reply: chattest.Reply{Body: `{"choices": [{"mess`}, says: "not complete JSON"},
	"a stream that stops":      {reply: chattest.Reply{Body: `{"choices": [`, Cut: true}, says: "did not finish"},
	"NaN log-probabilities":    {reply: completion(`{"id": 1, "logprob": NaN}`), says: "not finite"},
	"log-probability above 0":  {reply: completion(`{"id": 1, "logprob": 0.5}`), says: "above 0"},
	"wrong ids":                {reply: completion(`{"id": -5, "logprob": -1}`), says: "has the id -5"},
	"no log-probabilities":     {reply: chattest.Say("north"), says: "log-probabilities were requested"},
	"a model that is gone":     {reply: chattest.Fail(404, "", "no such model"), ends: fault.Missing},
	"a key that is missing":    {reply: chattest.Fail(401, "", "no key"), ends: fault.Missing},
	"context overflow":         {reply: chattest.Fail(400, "exceed_context_size_error", "too long"), stops: rl.StopContext},
	"a filter":                 {reply: chattest.Fail(400, "content_filter", "no"), says: "content filter"},
	"twice the deadline":       {reply: chattest.Reply{Until: make(chan struct{})}, says: "no decision within step_deadline"},
	"an endless stream":        {reply: chattest.Reply{Body: strings.Repeat(" ", 1<<16), Endless: true}, ends: fault.Refused},
	"a huge body":              {reply: chattest.Say(strings.Repeat("x", 2<<20)), ends: fault.Refused},
	"a redirect to other host": {reply: chattest.Reply{Status: 307, Header: map[string]string{"Location": "http://192.0.2.1/v1/chat/completions"}}, ends: fault.Refused},
	"a page":                   {reply: chattest.Reply{Body: "<html>"}, says: "a page, not JSON"},
	"of another shape":         {reply: chattest.Reply{Body: `{"choices": 5}`}, says: "number instead of a list"},
}

func completion(tokens string) chattest.Reply {
	return chattest.Reply{Body: `{"choices":[{"message":{"role":"assistant","content":"north"},"finish_reason":"stop","logprobs":{"content":[` + tokens + `]}}]}`}
}

// Promise: whatever a server does to some requests has one typed outcome with a
// word of what to do: the episodes of those requests end with it and have no
// score, the others keep their bytes; or no episode is to be had, and the
// rollout says so.
func TestBadServers(t *testing.T) {
	good := serve(t, func(c chattest.Call) chattest.Reply { return walk(t, c) })
	want, err := play(t, good.URL, nil)
	require.NoError(t, err)
	for name, b := range bad {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hit := sync.Map{}
			s := serve(t, func(c chattest.Call) chattest.Reply {
				if unlucky(t, c) {
					hit.Store(seedOf(t, c), true)
					return b.reply
				}
				return walk(t, c)
			})
			got, err := play(t, s.URL, options{"max_response": 1 << 20}, func(c *merit.Config) {
				if strings.HasPrefix(name, "twice") {
					c.Rollout.StepDeadline, c.Rollout.Retries = 15*time.Second, 0
				}
			})
			if b.ends != "" {
				require.ErrorIs(t, err, fault.Of(fault.Model, b.ends))
				require.NotEmpty(t, fault.As(err).Hint)
				return
			}
			require.NoError(t, err)
			hits := 0
			hit.Range(func(any, any) bool { hits++; return true })
			lost := 0
			for i, e := range got.episodes {
				switch {
				case b.stops != "" && e.StopReason == b.stops:
					lost++
				case e.StopReason == rl.StopError:
					lost++
					require.Contains(t, e.Error, b.says)
					require.Regexp(t, `; \w`, e.Error, "what to do")
					require.NotEqual(t, string(reward.Scored), e.Outcome)
					require.False(t, e.Evaluation != nil && e.Evaluation.IsScoreValid)
				default:
					require.Equal(t, played(want.episodes[i]), played(e))
				}
			}
			require.Equal(t, hits, lost)
			require.Positive(t, lost)
			require.Less(t, lost, len(got.episodes))
		})
	}
}

// Promise: what passes leaves no trace: with a server that fails at first in any
// way that may pass, a rollout has the same bytes as with one that does not.
func TestPassingTroubles(t *testing.T) {
	good := serve(t, func(c chattest.Call) chattest.Reply { return walk(t, c) })
	want, err := play(t, good.URL, nil)
	require.NoError(t, err)
	for name, b := range bad {
		if b.ends != "" || b.stops != "" || name == "twice the deadline" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := sync.Map{}
			s := serve(t, func(c chattest.Call) chattest.Reply {
				if _, again := seen.LoadOrStore(seedOf(t, c), true); !again && seedOf(t, c)%3 == 0 {
					return b.reply
				}
				return walk(t, c)
			})
			got, err := play(t, s.URL, nil, func(c *merit.Config) { c.Rollout.Retries, c.Rollout.InFlight = 100, 5 })
			require.NoError(t, err)
			require.Equal(t, want.lines, got.lines)
		})
	}
}
