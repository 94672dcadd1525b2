package eventfile

import (
	"bytes"
	"encoding/binary"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/telemetry"
)

// Promise: records and events are those of TensorBoard's own writer, byte for
// byte (testdata/golden.py).
func TestSameBytesAsTensorBoard(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("testdata", "golden.tfevents"))
	require.NoError(t, err)
	scalar := func(value float64, path ...string) telemetry.Scalar {
		return telemetry.Scalar{Path: path, Value: value}
	}
	var got []byte
	got = appendRecord(got, versionEvent(1700000000.25))
	got = appendRecord(got, startEvent(1700000000.5, 3))
	got = appendRecord(got, scalarsEvent(1700000001, 300, []telemetry.Scalar{
		scalar(0.1, "rollout", "success"), scalar(-2.5e-7, "update", "kl"), scalar(math.Inf(1), "validation", "metrics", "größe", "mean"),
	}))
	zero := scalarsEvent(1700000002, 0, []telemetry.Scalar{scalar(0, "zero")})
	got = appendRecord(got, zero)
	require.Equal(t, want, got)
}

// Promise: each session is a file that begins with what is behind the run, at
// the times at which it happened, and forgets what was said before.
func TestSessions(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs", "run")
	now := time.Unix(1000, 0)
	w, err := Open(dir, nil)
	require.NoError(t, err)
	w.now = func() time.Time { return now }
	it := func(n int) run.Iteration {
		return run.Iteration{Iteration: n, EnvSteps: uint64(100 * n), Time: run.Time{Total: 2}}
	}
	w.Began(nil, 5)
	w.Iterated(it(1), 5)
	now = now.Add(10 * time.Second)
	w.Began([]run.Iteration{it(1), it(2)}, 5)
	w.Iterated(it(3), 5)
	require.NoError(t, w.Close())
	files, err := filepath.Glob(filepath.Join(dir, "*tfevents*"))
	require.NoError(t, err)
	require.Len(t, files, 2)
	require.Equal(t, []moments{{1000, 0}, {1000, 0}, {1000, 1}}, read(t, files[0]))
	require.Equal(t, []moments{{1010, 0}, {1010, 0}, {1008, 1}, {1010, 2}, {1010, 3}}, read(t, files[1]))
}

// Promise: a file that cannot be written does not end the run; the log says it
// once, and Close gives the reason.
func TestFullDisk(t *testing.T) {
	var log bytes.Buffer
	dir := t.TempDir()
	w, err := Open(dir, slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	w.Began(nil, 2)
	require.NoError(t, w.file.Close()) // what a disk does that goes away
	w.Iterated(run.Iteration{Iteration: 1}, 2)
	w.Iterated(run.Iteration{Iteration: 2}, 2)
	err = w.Close()
	require.ErrorIs(t, err, fault.Of(fault.Storage, ""))
	require.Contains(t, err.Error(), dir)
	require.Equal(t, 1, bytes.Count(log.Bytes(), []byte("the run continues")))
}

// Promise: a folder that cannot be made is refused before the run.
func TestNoFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := Open(filepath.Join(file, "logs"), nil)
	require.ErrorIs(t, err, fault.Of(fault.Storage, fault.Refused))
	require.NotEmpty(t, fault.As(err).Hint)
}

type moments struct{ wall, step float64 }

// read returns wall time and step of the events of a file.
func read(t *testing.T, path string) (all []moments) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	for len(data) > 0 {
		size := binary.LittleEndian.Uint64(data)
		event := data[12 : 12+size]
		var m moments
		for len(event) > 0 {
			number, kind, n := protowire.ConsumeTag(event)
			require.Positive(t, n)
			event = event[n:]
			switch number {
			case eventWallTime:
				bits, _ := protowire.ConsumeFixed64(event)
				m.wall = math.Float64frombits(bits)
			case eventStep:
				step, _ := protowire.ConsumeVarint(event)
				m.step = float64(step)
			}
			event = event[protowire.ConsumeFieldValue(number, kind, event):]
		}
		all, data = append(all, m), data[16+size:]
	}
	return all
}
