package jsonl

import (
	"errors"
	"io"
	"iter"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
)

// Trajectory decodes a line into a trajectory that is fit for the pipeline. It
// may be called from several goroutines at once.
func (r *Reader) Trajectory(l Line) (*rl.Trajectory, error) {
	t, err := rl.DecodeTrajectory(l.Text, l.Number)
	switch {
	case err == nil:
		return t, nil
	case l.cutShort():
		return nil, r.truncated(l)
	}
	return nil, &fault.Error{
		Boundary: fault.Data, Kind: fault.Invalid, Where: r.At(l.Number), What: err.Error(),
		Hint: `each line needs "messages": [{"role": …, "content": …}, …]`,
	}
}

// NextTrajectory reads the next trajectory, or returns io.EOF.
func (r *Reader) NextTrajectory() (*rl.Trajectory, error) {
	l, err := r.Line()
	if err != nil {
		return nil, err
	}
	return r.Trajectory(l)
}

// Trajectories yields the trajectories of the file at path in order, and at
// most one error, last: what stands before the damage is still of use.
func Trajectories(path string) iter.Seq2[*rl.Trajectory, error] {
	return func(yield func(*rl.Trajectory, error) bool) {
		r, err := Open(path, nil)
		if err != nil {
			yield(nil, err)
			return
		}
		defer r.Close()
		for {
			t, err := r.NextTrajectory()
			if errors.Is(err, io.EOF) || !yield(t, err) || err != nil {
				return
			}
		}
	}
}
