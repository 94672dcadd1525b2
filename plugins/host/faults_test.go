package host_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/plugins/host"
)

// Promise: whatever a binary does instead of becoming a plug-in, Open says
// what it was, of which kind, and in time.
func TestStartFaults(t *testing.T) {
	for _, c := range []struct {
		mode string
		kind fault.Kind
		says []string
	}{
		{"dies", fault.Crashed, []string{"faulty: died at its start: exit status 3", `| cannot find the \x1b[31mmaps\x1b[0m`}},
		{"garbage", fault.Protocol, []string{`printed "Hello, world!" where the handshake belongs`}},
		{"no newline", fault.Protocol, []string{`printed "xxxxx`}},
		{"version", fault.Protocol, []string{"the plug-in speaks protocol version 99, this merit speaks 1"}},
		{"silent", fault.Timeout, []string{"gave no answer within 2s at its start"}},
		{"no socket", fault.Crashed, []string{"failed at its start", "no such file"}},
		{"mute socket", fault.Timeout, []string{"gave no answer within 2s at its start"}},
		{"describes another version", fault.Protocol, []string{"speaks protocol version 2, this merit speaks 1"}},
		{"hangs in Describe", fault.Timeout, []string{"gave no answer within 2s at its start"}},
		{"another slot count", fault.Protocol, []string{"faulty: spec.slots: is 4, asked for 3"}},
	} {
		t.Run(c.mode, func(t *testing.T) {
			cfg := faulty(t, c.mode)
			if c.kind == fault.Timeout {
				cfg.StartTimeout = hangs
			}
			began := time.Now()
			_, err := host.Open(t.Context(), cfg)
			require.ErrorIs(t, err, fault.Of(fault.Plugin, c.kind), "%v", err)
			for _, s := range c.says {
				require.ErrorContains(t, err, s)
			}
			require.NotEmpty(t, fault.As(err).Hint)
			require.Less(t, time.Since(began), soon)
		})
	}
}

// Promise: a path that is no plug-in is told before anything is started.
func TestNoBinary(t *testing.T) {
	cfg := host.DefaultConfig()
	for path, kind := range map[string]fault.Kind{
		"absent":                           fault.Missing,
		t.TempDir():                        fault.Refused,
		write(t, "text", "hello", 0o600):   fault.Refused,
		write(t, "script", "hello", 0o700): fault.Refused, // the exec itself fails
	} {
		cfg.Path = path
		_, err := host.Open(t.Context(), cfg)
		require.ErrorIs(t, err, fault.Of(fault.Plugin, kind), "%s: %v", path, err)
	}
}

func write(t *testing.T, name, text string, mode os.FileMode) string {
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), mode))
	return path
}

// Promise: whatever happens during a batch is a typed error that says what the
// plug-in said last, and the next reset works.
func TestBatchFaults(t *testing.T) {
	for _, c := range []struct {
		mode string
		kind fault.Kind
		says []string
	}{
		{"exits", fault.Crashed, []string{"faulty: died during a batch: exit status 7", "| so long"}},
		{"panics", fault.Crashed, []string{"exit status 2", "| panic: index out of luck"}},
		{"hangs", fault.Timeout, []string{"gave no answer within 2s during a batch and was killed"}},
		{"stops", fault.Timeout, []string{"gave no answer within 2s during a batch and was killed"}},
		{"returns an error", fault.Crashed, []string{"failed during a batch", "the handler failed"}},
		{"ends the stream", fault.Crashed, []string{"failed during a batch"}},
		{"short reward", fault.Protocol, []string{"reward: column has 23 bytes, not 3 rows of 8"}},
		{"reward is NaN", fault.Protocol, []string{"faulty: reward: slot 0 has NaN"}},
		{"wrong seq", fault.Protocol, []string{"seq: reply 3 answers batch 2"}},
		{"huge reply", fault.Protocol, []string{"sent a message above the limit"}},
		{"leaves a grandchild", fault.Crashed, []string{"exit status 7", "| grandchild "}},
		{"leaves a daemon", fault.Crashed, []string{"exit status 7"}},
	} {
		t.Run(c.mode, func(t *testing.T) {
			cfg := faulty(t, c.mode)
			if c.kind == fault.Timeout {
				cfg.BatchDeadline = hangs
			}
			e := open(t, cfg)
			began := time.Now()
			err := misbehave(t, e)
			require.Less(t, time.Since(began), soon)
			require.ErrorIs(t, err, fault.Of(fault.Plugin, c.kind), "%v", err)
			for _, s := range c.says {
				require.ErrorContains(t, err, s)
			}
			var r env.Reply
			err = e.Exchange(t.Context(), batch(e, env.Step), &r)
			require.ErrorContains(t, err, "slot 0 steps after a fault; every slot must be reset first")
			require.NoError(t, e.Exchange(t.Context(), batch(e, env.Reset), &r))
			require.Equal(t, []string{"a", "a", "a"}, r.Anchor)
		})
	}
}

// Promise: a caller who gives up gets its own error at once, however stuck the
// plug-in is.
func TestCallerGivesUp(t *testing.T) {
	e := open(t, faulty(t, "stops"))
	var r env.Reply
	require.NoError(t, e.Exchange(t.Context(), batch(e, env.Reset), &r))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := e.Exchange(ctx, batch(e, env.Step), &r)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, fault.Of(fault.Plugin, fault.Timeout))
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	_, err = host.Open(ctx, faulty(t, "silent"))
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, fault.Of(fault.Plugin, fault.Interrupted))
}

// Promise: memory above the limit ends the plug-in, not the machine.
func TestMemoryLimit(t *testing.T) {
	cfg := faulty(t, "eats memory")
	cfg.Limits.Memory = 512 << 20
	err := misbehave(t, open(t, cfg))
	require.ErrorIs(t, err, fault.Of(fault.Plugin, fault.Crashed))
	require.ErrorContains(t, err, "exit status 2")
}

// Promise: what an environment printed before it left is in the error, though
// go-plugin would lose it.
func TestLastWords(t *testing.T) {
	cfg := host.DefaultConfig()
	cfg.Path, cfg.Slots = build(t, "./plugins/host/testdata/echo"), 1
	e := open(t, cfg)
	var r env.Reply
	require.NoError(t, e.Exchange(t.Context(), batch(e, env.Reset), &r))
	b := batch(e, env.Step)
	b.Texts[0] = "exit"
	err := e.Exchange(t.Context(), b, &r)
	require.ErrorContains(t, err, "exit status 5")
	require.ErrorContains(t, err, "| to stdout\n    | to stderr")
}

// Promise: a slot that panics is a failed slot with a reason; the others and
// the process go on.
func TestSlotPanics(t *testing.T) {
	cfg := host.DefaultConfig()
	cfg.Path, cfg.Slots = build(t, "./plugins/host/testdata/echo"), 2
	e := open(t, cfg)
	var r env.Reply
	require.NoError(t, e.Exchange(t.Context(), batch(e, env.Reset), &r))
	b := batch(e, env.Step)
	b.Texts[0] = "panic"
	require.NoError(t, e.Exchange(t.Context(), b, &r))
	require.Equal(t, []env.Flag{env.Failed, 0}, r.Flags)
	require.Equal(t, env.Event{Kind: env.EventError, Message: "panic: as asked"}, r.Events[0])
	require.Equal(t, "seed 0,", r.Anchor[1])
}
