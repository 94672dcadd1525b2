package run

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
)

// MaxLine is the most bytes of one trajectory in a file.
const MaxLine = 64 << 20

// SaveEpisodes appends training episodes, one zstd frame for all of them, to
// trajectories/train.jsonl.zst. Equal episodes give equal bytes.
func (d *Dir) SaveEpisodes(episodes []*rl.Trajectory) error {
	if len(episodes) == 0 {
		return nil
	}
	frame, err := pack(episodes)
	if err != nil {
		return err
	}
	return d.episodes.append(frame)
}

// WriteEpisodes writes trajectories/<name>.jsonl.zst whole.
func (d *Dir) WriteEpisodes(name string, episodes []*rl.Trajectory) error {
	frame, err := pack(episodes)
	if err != nil {
		return err
	}
	return writeFile(d.file(Trajectories, name+".jsonl.zst"), frame)
}

func pack(episodes []*rl.Trajectory) ([]byte, error) {
	var frame bytes.Buffer
	// One worker: the bytes must not depend on the machine's processors.
	z, err := zstd.NewWriter(&frame, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	enc := json.NewEncoder(z)
	enc.SetEscapeHTML(false)
	for _, t := range episodes {
		if err := enc.Encode(t); err != nil {
			return nil, &fault.Error{
				Boundary: fault.Data, Kind: fault.Numeric, Where: t.ID, What: "cannot be stored", Err: err,
				Hint: "a reward or a policy gave a number that is not finite",
			}
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return frame.Bytes(), nil
}

// ReadTrajectories reads a JSONL file of trajectories, compressed with zstd if
// its name ends in .zst. It yields them in order and at most one error, last:
// what stood before the damage is still of use.
func ReadTrajectories(path string) iter.Seq2[*rl.Trajectory, error] {
	return func(yield func(*rl.Trajectory, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(nil, dataError(path, err))
			return
		}
		defer f.Close()
		var r io.Reader = f
		if strings.HasSuffix(path, ".zst") {
			z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(MaxLine))
			if err != nil {
				yield(nil, dataError(path, err))
				return
			}
			defer z.Close()
			r = z
		}
		lines := bufio.NewScanner(r)
		lines.Buffer(make([]byte, 64<<10), MaxLine)
		n := 0
		for lines.Scan() {
			n++
			if len(bytes.TrimSpace(lines.Bytes())) == 0 {
				continue
			}
			t := new(rl.Trajectory)
			if err := json.Unmarshal(lines.Bytes(), t); err != nil {
				yield(nil, dataError(fmt.Sprintf("%s:%d", path, n), err))
				return
			}
			if !yield(t, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(nil, dataError(fmt.Sprintf("%s:%d", path, n+1), err))
		}
	}
}

func dataError(where string, err error) error {
	e := &fault.Error{Boundary: fault.Data, Kind: fault.Corrupt, Where: where, What: "cannot be read as a trajectory", Err: err,
		Hint: "each line must be one trajectory in JSON"}
	switch {
	case errors.Is(err, os.ErrNotExist):
		e.Kind, e.What, e.Hint = fault.Missing, "no such file of trajectories", "check the path"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, zstd.ErrCRCMismatch), errors.Is(err, zstd.ErrMagicMismatch):
		e.What = "the compressed file is cut short or damaged"
		e.Hint = "what stands before is intact; a run that was killed repairs its files with --resume"
	case errors.Is(err, bufio.ErrTooLong):
		e.Kind, e.What = fault.Exhausted, fmt.Sprintf("the line is longer than %d MiB", MaxLine>>20)
	}
	return e
}
