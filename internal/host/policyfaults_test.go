package host_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/host"
)

func faultyPolicy(t testing.TB, mode string) host.PolicyConfig {
	cfg := host.DefaultPolicyConfig()
	cfg.Path, cfg.Args = build(t, "./internal/host/testdata/faulty"), []string{"policy", mode}
	cfg.StartTimeout, cfg.ConfigureTimeout, cfg.LearnTimeout = soon, soon, soon
	return cfg
}

// asked returns the reply of a well-behaved policy: its process id.
func asked(t *testing.T, l policy.Policy) int {
	t.Helper()
	d := ask(t, l, "hello")[0]
	require.NoError(t, d.Err)
	id, err := strconv.Atoi(d.Raw)
	require.NoError(t, err)
	return id
}

// Promise: the host distinguishes programs that are not policies from policies that do
// not start, and the two kinds of plug-in from each other.
func TestPolicyStartFaults(t *testing.T) {
	for _, c := range []struct {
		mode string
		kind fault.Kind
		says string
	}{
		{"hangs in Configure", fault.Timeout, "gave no answer within 2s while it was configured"},
		{"no spec", fault.Protocol, "faulty: spec: is missing"},
		{"serves nothing", fault.Protocol, "serves neither an environment nor a policy"},
	} {
		cfg := faultyPolicy(t, c.mode)
		if c.kind == fault.Timeout {
			cfg.ConfigureTimeout = hangs
		}
		_, err := host.OpenPolicy(t.Context(), cfg)
		require.ErrorIs(t, err, fault.Of(fault.Plugin, c.kind), "%v", err)
		require.ErrorContains(t, err, c.says)
	}
	cfg := host.DefaultPolicyConfig()
	cfg.Path = sokoban(t, 1).Path
	_, err := host.OpenPolicy(t.Context(), cfg)
	require.ErrorIs(t, err, fault.Of(fault.Plugin, fault.Refused))
	require.EqualError(t, err, "sokoban: is an environment plug-in, not a policy plug-in")
	other := sokoban(t, 1)
	other.Path = bandit(t).Path
	_, err = host.Open(t.Context(), other)
	require.EqualError(t, err, "bandit: is a policy plug-in, not an environment plug-in")
}

// Promise: a decision that breaks the contract is one typed, non-retryable failure of
// its request; the process and the other requests continue.
func TestBadDecisions(t *testing.T) {
	for mode, says := range map[string]string{
		"no decision":              "faulty: decision: is missing",
		"NaN log-probability":      "decision.log_probs[0]: NaN is not the logarithm of a probability",
		"positive log-probability": "decision.log_probs[0]: 0.5 is not the logarithm",
		"no log-probabilities":     "decision.log_probs: the column has 0 bytes, not 1 rows of 8 bytes",
		"negative token":           "decision.tokens: token 0 is -2147483641",
		"ragged tokens":            "decision.tokens: the column has 3 bytes, not 0 rows of 4 bytes",
		"from the future":          "decision.version: is 1, but the newest version is 0",
		"infinite entropy":         "decision.entropy: is +Inf",
		"unknown kind":             `decision.kind: "shrug\\n" is not choice, text or tool`,
		"unknown action":           "decision.choice: 2 is not one of 0 actions",
		"huge text":                "decision.raw: 1048577 bytes, more than 1048576",
		"not UTF-8":                "decision.tool_calls: are not UTF-8",
	} {
		t.Run(mode, func(t *testing.T) {
			cfg := faultyPolicy(t, mode)
			cfg.Learn = true
			l := openPolicy(t, cfg)
			id := asked(t, l)
			d := ask(t, l, "hello", "now", "hello")
			require.NoError(t, errors.Join(d[0].Err, d[2].Err))
			require.ErrorIs(t, d[1].Err, fault.Of(fault.Plugin, fault.Protocol))
			require.ErrorContains(t, d[1].Err, says)
			require.False(t, fault.Retryable(d[1].Err))
			require.Equal(t, id, asked(t, l))
		})
	}
}

// Promise: if the process dies for any reason, every open request gets a typed error,
// and the next request gets another process, unless the policy has learned.
func TestPolicyDies(t *testing.T) {
	for _, c := range []struct {
		mode  string
		kind  fault.Kind
		retry bool
		says  string
	}{
		{"exits", fault.Crashed, true, "died while it acted: exit status 7; its last output:\n    | so long"},
		{"ends the stream", fault.Crashed, true, "failed while it acted"},
		{"closes the stream", fault.Crashed, true, "the handler failed"},
		{"unknown id", fault.Protocol, false, "an answer to request 1003, which is not open"},
		{"id 0", fault.Protocol, false, "an answer to request 0, which is not open"},
		{"answers twice", fault.Protocol, false, "an answer to request 3, which is not open"},
		{"huge reply", fault.Protocol, false, "sent a message above the limit"},
	} {
		t.Run(c.mode, func(t *testing.T) {
			l := openPolicy(t, faultyPolicy(t, c.mode))
			id := asked(t, l)
			for i, d := range ask(t, l, "wait", "now") {
				if c.mode == "answers twice" && i == 1 {
					require.NoError(t, d.Err, "the first answer counts")
					continue
				}
				require.ErrorIs(t, d.Err, fault.Of(fault.Plugin, c.kind), "%v", d.Err)
				require.ErrorContains(t, d.Err, c.says)
				require.Equal(t, c.retry, fault.Retryable(d.Err))
			}
			requireGone(t, id)
			require.NotEqual(t, id, asked(t, l))
		})
	}
}

// Promise: a policy that only dies is not restarted forever.
func TestPolicyDiesAgainAndAgain(t *testing.T) {
	l := openPolicy(t, faultyPolicy(t, "exits"))
	for range 3 {
		require.True(t, fault.Retryable(ask(t, l, "now")[0].Err))
	}
	err := ask(t, l, "now")[0].Err
	require.ErrorContains(t, err, "died 4 times in a row without answering a request: faulty: died while it acted")
	require.False(t, fault.Retryable(err))
	again := l.Act(t.Context(), []policy.Observation{observation("hello")}, make([]policy.Decision, 1))
	require.Equal(t, err, again)
	require.Equal(t, err, l.Load(t.Context(), nil))
}

// Promise: a learner whose process died returns an error from every call until Load
// starts another.
func TestLearnerDies(t *testing.T) {
	cfg := faultyPolicy(t, "exits")
	cfg.Learn = true
	l := openPolicy(t, cfg)
	id := asked(t, l)
	gone := func(err error) {
		t.Helper()
		require.ErrorIs(t, err, fault.Of(fault.Learner, fault.Crashed))
		require.ErrorContains(t, err, "the learner died, and its updates since the last save are lost: faulty: died while it acted: exit status 7")
		require.True(t, fault.Retryable(err))
	}
	gone(ask(t, l, "now")[0].Err)
	gone(l.Act(t.Context(), []policy.Observation{observation("hello")}, make([]policy.Decision, 1)))
	_, err := l.Learn(t.Context(), &policy.Experience{First: []int{0}}, 1)
	gone(err)
	_, err = l.Save(t.Context(), "x")
	gone(err)
	gone(l.Publish(t.Context()))
	require.NoError(t, l.Load(t.Context(), nil))
	require.NotEqual(t, id, asked(t, l))
}

// Promise: a learner that hangs, dies or sends false data while it learns, saves or
// loads is killed in time, with the reason.
func TestLearnerFaults(t *testing.T) {
	testneeds.Slow(t, "dies in many ways")
	learn := func(ctx context.Context, l policy.Learner) error {
		_, err := l.Learn(ctx, &policy.Experience{First: []int{0}}, 1)
		return err
	}
	save := func(ctx context.Context, l policy.Learner) error {
		_, err := l.Save(ctx, "x")
		return err
	}
	for _, c := range []struct {
		mode string
		call func(context.Context, policy.Learner) error
		kind fault.Kind
		says string
	}{
		{"hangs in Learn", learn, fault.Crashed, "gave no answer within 2s while it learned and was killed"},
		{"hangs in Save", save, fault.Crashed, "gave no answer within 2s while it saved its weights and was killed"},
		{"dies in Learn", learn, fault.Crashed, "died while it learned: exit status 8"},
		{"dies in Load", func(ctx context.Context, l policy.Learner) error { return l.Load(ctx, nil) }, fault.Crashed, "died while it loaded weights: exit status 8"},
		{"learns NaN", learn, fault.Protocol, "stats: contain NaN"},
		{"learns nothing", learn, fault.Protocol, "stats: are missing"},
		{"learns twice", learn, fault.Protocol, "version: is 2, but must be 1 after this update"},
		{"empty state", save, fault.Protocol, "state: has 0 bytes, not 1 to"},
		{"publishes another", func(ctx context.Context, l policy.Learner) error { return l.Publish(ctx) }, fault.Protocol, "version: 5 was published, but the newest is 0"},
	} {
		t.Run(c.mode, func(t *testing.T) {
			cfg := faultyPolicy(t, c.mode)
			cfg.Learn = true
			if strings.HasPrefix(c.mode, "hangs") {
				cfg.LearnTimeout = hangs
			}
			l := openPolicy(t, cfg)
			began := time.Now()
			err := c.call(t.Context(), l)
			require.Less(t, time.Since(began), soon)
			require.ErrorIs(t, err, fault.Of(fault.Learner, c.kind), "%v", err)
			require.ErrorContains(t, err, c.says)
			require.Equal(t, c.kind == fault.Crashed, fault.Retryable(err))
			require.Zero(t, l.Version())
		})
	}
	cfg := faultyPolicy(t, "hangs in Learn")
	cfg.Learn, cfg.LearnTimeout = true, 0
	l := openPolicy(t, cfg)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := learn(ctx, l)
	require.ErrorIs(t, err, context.DeadlineExceeded, "without a limit the caller's own holds")
	require.True(t, fault.Retryable(err))
}

// Promise: a policy refuses at once what it does not support, and keeps running.
func TestNoLearner(t *testing.T) {
	l := openPolicy(t, faultyPolicy(t, "learns not"))
	_, err := l.Learn(t.Context(), &policy.Experience{First: []int{0}}, 1)
	require.ErrorIs(t, err, fault.Of(fault.Learner, fault.Refused))
	require.EqualError(t, err, "faulty: the policy cannot learn")
	require.ErrorIs(t, l.Load(t.Context(), nil), fault.Of(fault.Learner, fault.Refused))
	played := openPolicy(t, faultyPolicy(t, "behaves"))
	_, err = played.Learn(t.Context(), &policy.Experience{First: []int{0}}, 1)
	require.EqualError(t, err, "faulty: was not opened for learning")
	asked(t, l)
	asked(t, played)
	require.NoError(t, l.Close())
	require.ErrorContains(t, l.Act(t.Context(), []policy.Observation{observation("x")}, make([]policy.Decision, 1)), "the policy is closed")
}

// Promise: a policy that only acts is restarted with the state that was loaded, and
// Save returns that state without asking the plug-in, whose Save is not called.
func TestLoadedStateOutlivesProcess(t *testing.T) {
	cfg := bandit(t)
	teacher := openPolicy(t, cfg)
	e := experience(t, teacher)
	_, err := teacher.Learn(t.Context(), e, 1)
	require.NoError(t, err)
	state, err := teacher.Save(t.Context(), "taught")
	require.NoError(t, err)
	cfg.Learn = false
	l := openPolicy(t, cfg)
	untaught := ask(t, l, "hello")
	require.NoError(t, l.Load(t.Context(), state))
	want := ask(t, l, "hello")
	require.NotEqual(t, untaught, want)
	saved, err := l.Save(t.Context(), "again")
	require.NoError(t, err)
	require.Equal(t, state, saved)
	for _, mode := range []string{"hangs in Save", "behaves"} {
		saved, err = openPolicy(t, faultyPolicy(t, mode)).Save(t.Context(), "untaught")
		require.NoError(t, err)
		require.Nil(t, saved)
	}
	require.ErrorContains(t, ask(t, l, "die")[0].Err, "exit status 9")
	require.Equal(t, want, ask(t, l, "hello"))
	require.Equal(t, uint64(1), l.Version())
}

// Promise: neither a request nor Close waits past the deadline for a policy that does
// not even read.
func TestStuckPolicy(t *testing.T) {
	stuck := openPolicy(t, faultyPolicy(t, "stops"))
	large := slices.Repeat([]policy.Observation{observation(strings.Repeat("long ", 1<<17))}, 16)
	large[0] = observation("now")
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		began := time.Now()
		decisions := make([]policy.Decision, len(large))
		require.NoError(t, stuck.Act(ctx, large, decisions))
		cancel()
		require.Less(t, time.Since(began), soon)
		for _, d := range decisions {
			require.ErrorIs(t, d.Err, fault.Of(fault.Plugin, fault.Timeout))
			require.True(t, fault.Retryable(d.Err))
		}
	}
	began := time.Now()
	require.NoError(t, stuck.Close())
	require.Less(t, time.Since(began), soon)
}

// Promise: after kill -9 during many requests, each of them gets one retryable error.
func TestKillNine(t *testing.T) {
	l := openPolicy(t, faultyPolicy(t, "kills itself"))
	id := asked(t, l)
	for _, d := range ask(t, l, append(slices.Repeat([]string{"wait"}, 63), "now")...) {
		require.ErrorIs(t, d.Err, fault.Of(fault.Plugin, fault.Crashed), "%v", d.Err)
		require.ErrorContains(t, d.Err, "signal: killed")
		require.True(t, fault.Retryable(d.Err))
	}
	require.NotEqual(t, id, asked(t, l))
}

// Promise: secrets reach the plug-in and nothing else: no error and no log shows them,
// and all variables that are not set are reported together.
func TestKeys(t *testing.T) {
	var log bytes.Buffer
	cfg := bandit(t)
	cfg.Learn, cfg.PassEnv = false, []string{"BANDIT_KEY"}
	cfg.Getenv = func(name string) string { return map[string]string{"BANDIT_KEY": "sk-0123456789"}[name] }
	cfg.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	l := openPolicy(t, cfg)
	require.EqualError(t, ask(t, l, "secret")[0].Err, "bandit: no entry with $BANDIT_KEY")
	require.ErrorContains(t, ask(t, l, "die")[0].Err, "| my key was $BANDIT_KEY")
	require.NoError(t, l.Close())
	require.Contains(t, log.String(), "my key was $BANDIT_KEY")
	require.NotContains(t, log.String(), "sk-")

	cfg.PassEnv = []string{"BANDIT_KEY", "ABSENT_ONE", "ABSENT_TWO", "NO NAME"}
	_, err := host.OpenPolicy(t.Context(), cfg)
	require.ErrorIs(t, err, fault.Of(fault.Config, fault.Missing))
	require.EqualError(t, err, "pass_env[1]: the variable ABSENT_ONE is not set\npass_env[2]: the variable ABSENT_TWO is not set\npass_env[3]: \"NO NAME\" is not a variable name")
}

// Promise: a flood of output delays no request.
func TestPolicyFlood(t *testing.T) {
	cfg := faultyPolicy(t, "floods")
	cfg.Limits.Output = 256 << 10
	l := openPolicy(t, cfg)
	require.NoError(t, ask(t, l, "now")[0].Err)
	for range 100 {
		asked(t, l)
	}
}

// Promise: a check configures a policy exactly as a run does.
func TestCheckPolicy(t *testing.T) {
	found, err := host.CheckPolicy(t.Context(), bandit(t))
	require.NoError(t, err)
	require.Equal(t, []any{"bandit", host.Policy, true, "bandit", "bytes", 4096}, []any{found.Name, found.Kind, found.Learns, found.Model, found.Tokenizer, found.Context})
	cfg := bandit(t)
	cfg.Options = []byte(`{"rat": 1}`)
	_, err = host.CheckPolicy(t.Context(), cfg)
	require.EqualError(t, err, "options.rat: is not an option")
	found, err = host.Inspect(t.Context(), cfg.Path, "")
	require.NoError(t, err)
	require.Equal(t, host.Policy, found.Kind)
	require.JSONEq(t, `{"rate": 0.5, "die": ""}`, string(found.Options))
	cfg.StartTimeout, cfg.ConfigureTimeout, cfg.LearnTimeout = 0, 0, -1
	_, err = host.CheckPolicy(t.Context(), cfg)
	for _, key := range []string{"start_timeout", "configure_timeout", "learn_timeout"} {
		require.ErrorContains(t, err, key+": ")
	}
}
