package host_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/host"
)

// Promise: if a binary does anything else than become a plug-in, Open returns a typed
// error that says what it did, in time.
func TestStartFaults(t *testing.T) {
	for _, c := range []struct {
		mode string
		kind fault.Kind
		says []string
	}{
		{"dies", fault.Crashed, []string{"faulty: died at its start: exit status 3", `| cannot find the \x1b[31mmaps\x1b[0m`}},
		{"garbage", fault.Protocol, []string{`printed "Hello, world!" instead of the handshake`}},
		{"no newline", fault.Protocol, []string{`printed "xxxxx`}},
		{"version", fault.Protocol, []string{"the plug-in uses protocol version 99, but this merit uses 1"}},
		{"silent", fault.Timeout, []string{"gave no answer within 2s at its start"}},
		{"no socket", fault.Crashed, []string{"failed at its start", "no such file"}},
		{"mute socket", fault.Timeout, []string{"gave no answer within 2s at its start"}},
		{"describes another version", fault.Protocol, []string{"uses protocol version 2, but this merit uses 1"}},
		{"hangs in Describe", fault.Timeout, []string{"gave no answer within 2s at its start"}},
		{"takes a lane in words", fault.Timeout, []string{"gave no answer within 2s while it was configured"}},
		{"another slot count", fault.Protocol, []string{"faulty: spec.slots: is 4, not the requested 3"}},
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

// Promise: a path that is not a plug-in is reported before anything is started.
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

// transports are the ways in which batches travel; the value is Config.GRPCOnly.
var transports = map[string]bool{"lane": false, "grpc": true}

// Promise: every failure during a batch is a typed error with the last output of the
// plug-in, the same on a lane and through gRPC, and the next reset works.
func TestBatchFaults(t *testing.T) {
	testneeds.NotShort(t)
	for _, c := range []struct {
		mode string
		kind fault.Kind
		says []string
		only string // on one transport
	}{
		{mode: "exits", kind: fault.Crashed, says: []string{"faulty: died during a batch: exit status 7", "| so long"}},
		{mode: "panics", kind: fault.Crashed, says: []string{"exit status 2", "| panic: index out of luck"}},
		{mode: "hangs", kind: fault.Timeout, says: []string{"gave no answer within 2s during a batch and was killed"}},
		{mode: "stops", kind: fault.Timeout, says: []string{"gave no answer within 2s during a batch and was killed"}},
		{mode: "returns an error", kind: fault.Crashed, says: []string{"failed during a batch", "the handler failed"}, only: "grpc"},
		{mode: "ends the stream", kind: fault.Crashed, says: []string{"failed during a batch"}},
		{mode: "short reward", kind: fault.Protocol, says: []string{"reward: the column has 23 bytes, not 3 rows of 8 bytes"}},
		{mode: "reward is NaN", kind: fault.Protocol, says: []string{"faulty: reward: slot 0 has the reward NaN"}},
		{mode: "unknown slot", kind: fault.Protocol, says: []string{"slot 3"}},
		{mode: "wrong seq", kind: fault.Protocol, says: []string{"seq: is 3 in the reply to batch 2"}},
		{mode: "huge reply", kind: fault.Protocol, says: []string{"sent a message above the limit"}},
		{mode: "sends garbage", kind: fault.Protocol, says: []string{"sent an invalid message during a batch"}},
		{mode: "sends garbage for a length", kind: fault.Protocol, says: []string{"sent a message above the limit"}, only: "lane"},
		{mode: "sends half a frame", kind: fault.Timeout, says: []string{"gave no answer within 2s during a batch"}, only: "lane"},
		{mode: "sends half a frame and goes", kind: fault.Crashed, says: []string{"failed during a batch", "unexpected EOF"}, only: "lane"},
		{mode: "leaves a grandchild", kind: fault.Crashed, says: []string{"exit status 7", "| grandchild "}},
		{mode: "leaves a daemon", kind: fault.Crashed, says: []string{"exit status 7"}},
	} {
		for name, grpcOnly := range transports {
			if c.only != "" && c.only != name {
				continue
			}
			t.Run(name+"/"+c.mode, func(t *testing.T) {
				cfg := faulty(t, c.mode)
				cfg.GRPCOnly = grpcOnly
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
}

// Promise: an unrequested reply is not mistaken for the next one.
func TestAnswersTwice(t *testing.T) {
	for name, grpcOnly := range transports {
		t.Run(name, func(t *testing.T) {
			cfg := faulty(t, "answers twice")
			cfg.GRPCOnly = grpcOnly
			err := misbehave(t, open(t, cfg))
			require.ErrorIs(t, err, fault.Of(fault.Plugin, fault.Protocol))
			require.ErrorContains(t, err, "seq: is 1 in the reply to batch 2")
		})
	}
}

// Promise: a process that left the plug-in's group and holds the other end of the lane
// blocks nothing.
func TestLaneIsLent(t *testing.T) {
	cfg := faulty(t, "lends its lane")
	cfg.BatchDeadline = hangs
	began := time.Now()
	err := misbehave(t, open(t, cfg))
	require.Less(t, time.Since(began), soon)
	require.ErrorIs(t, err, fault.Of(fault.Plugin, fault.Timeout))
	_, after, found := strings.Cut(err.Error(), "daemon ")
	require.True(t, found, err)
	require.NoError(t, syscall.Kill(pid(t, after), syscall.SIGKILL))
}

// Promise: a plug-in that accepts a lane that was not offered breaks the contract.
func TestNoOffer(t *testing.T) {
	cfg := faulty(t, "takes a lane in words")
	cfg.GRPCOnly = true
	_, err := host.Open(t.Context(), cfg)
	require.ErrorIs(t, err, fault.Of(fault.Plugin, fault.Protocol))
	require.ErrorContains(t, err, "faulty: lane: was not offered")
}

// Promise: a caller that cancels gets its own error at once, even if the plug-in hangs.
func TestCallerGivesUp(t *testing.T) {
	for _, grpcOnly := range transports {
		cfg := faulty(t, "stops")
		cfg.GRPCOnly = grpcOnly
		e := open(t, cfg)
		var r env.Reply
		require.NoError(t, e.Exchange(t.Context(), batch(e, env.Reset), &r))
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		err := e.Exchange(ctx, batch(e, env.Step), &r)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, fault.Of(fault.Plugin, fault.Timeout))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := host.Open(ctx, faulty(t, "silent"))
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, fault.Of(fault.Plugin, fault.Interrupted))
}

// Promise: exceeding the memory limit ends the plug-in, not the machine.
func TestMemoryLimit(t *testing.T) {
	cfg := faulty(t, "eats memory")
	cfg.Limits.Memory = 512 << 20
	err := misbehave(t, open(t, cfg))
	require.ErrorIs(t, err, fault.Of(fault.Plugin, fault.Crashed))
	require.ErrorContains(t, err, "exit status 2")
}

// Promise: the error contains what an environment printed before it exited, which
// go-plugin alone would lose.
func TestLastWords(t *testing.T) {
	cfg := host.DefaultConfig()
	cfg.Path, cfg.Slots = build(t, "./internal/host/testdata/echo"), 1
	e := open(t, cfg)
	var r env.Reply
	require.NoError(t, e.Exchange(t.Context(), batch(e, env.Reset), &r))
	b := batch(e, env.Step)
	b.Texts[0] = "exit"
	err := e.Exchange(t.Context(), b, &r)
	require.ErrorContains(t, err, "exit status 5")
	require.ErrorContains(t, err, "| to stdout\n    | to stderr")
}

// Promise: if a batch takes too long, the error names the slot that is stuck and for
// how long.
func TestStuckSlot(t *testing.T) {
	cfg := host.DefaultConfig()
	cfg.Path, cfg.Slots = build(t, "./internal/host/testdata/echo"), 3
	cfg.StartTimeout, cfg.BatchDeadline = soon, hangs
	e := open(t, cfg)
	var err error
	for range 5 { // it has a second to report the slot, which may be too short on a busy machine
		var r env.Reply
		require.NoError(t, e.Exchange(t.Context(), batch(e, env.Reset), &r))
		b := batch(e, env.Step)
		b.Texts[1] = "hang"
		err = e.Exchange(t.Context(), b, &r)
		require.ErrorIs(t, err, fault.Of(fault.Plugin, fault.Timeout))
		if strings.Contains(err.Error(), "; slot") {
			break
		}
	}
	require.Regexp(t, `gave no answer within 2s during a batch and was killed; slot 1 had been working for \d+\.\d s`, err.Error())
}

// Promise: secrets reach an environment and nothing else: no error and no log shows
// them. Every line of the log has the plug-in's name.
func TestKeysOfEnvironment(t *testing.T) {
	var log bytes.Buffer
	cfg := host.DefaultConfig()
	cfg.Path, cfg.Slots = build(t, "./internal/host/testdata/echo"), 1
	cfg.StartTimeout, cfg.BatchDeadline = soon, soon
	cfg.PassEnv = []string{"ECHO_KEY"}
	cfg.Getenv = func(name string) string { return map[string]string{"ECHO_KEY": "sk-0123456789"}[name] }
	cfg.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	e := open(t, cfg)
	var r env.Reply
	require.NoError(t, e.Exchange(t.Context(), batch(e, env.Reset), &r))
	b := batch(e, env.Step)
	b.Texts[0] = "tell"
	require.NoError(t, e.Exchange(t.Context(), b, &r))
	require.Equal(t, []env.Event{{Kind: env.EventError, Message: "no entry with $ECHO_KEY"}}, r.Events)
	require.NoError(t, e.Close())
	require.Contains(t, log.String(), "my key is $ECHO_KEY")
	require.NotContains(t, log.String(), "sk-")
	for line := range strings.Lines(log.String()) {
		require.Contains(t, line, "plugin=echo")
	}
	cfg.PassEnv = []string{"ABSENT_ONE"}
	_, err := host.Open(t.Context(), cfg)
	require.EqualError(t, err, "pass_env[0]: the variable ABSENT_ONE is not set")
}

// Promise: a slot that panics is a failed slot with a reason; the other slots and the
// process continue.
func TestSlotPanics(t *testing.T) {
	cfg := host.DefaultConfig()
	cfg.Path, cfg.Slots = build(t, "./internal/host/testdata/echo"), 2
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
