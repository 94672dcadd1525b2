package jsonl

import (
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
)

// Map makes the reader take fields of trajectories from other columns.
func (r *Reader) Map(columns []Column) { r.columns = columns }

// Trajectory decodes a line into a trajectory that is fit for the pipeline;
// columns that Merit does not know are in its metadata. It may be called from
// several goroutines at once.
func (r *Reader) Trajectory(l Line) (*rl.Trajectory, error) {
	t, err := r.decode(l)
	if err != nil && l.cutShort() {
		return nil, r.truncated(l)
	}
	if f := fault.As(err); f != nil {
		f.Where = r.At(l.Number)
	}
	return t, err
}

func (r *Reader) decode(l Line) (*rl.Trajectory, error) {
	text := l.Text
	if r.columns != nil {
		var err error
		if text, err = renamed(text, r.columns); err != nil {
			return nil, err
		}
	}
	return Decode(text, l.Number)
}

// Decode is Reader.Trajectory for text from elsewhere: a JSON object on one
// line, of the given number. The *fault.Error says no place.
func Decode(text []byte, number int) (*rl.Trajectory, error) {
	t, err := rl.DecodeTrajectory(text, number)
	if err != nil {
		return nil, invalid(`each line needs "messages": [{"role": …, "content": …}, …]`, "%v", err)
	}
	if err := keepColumns(t, text); err != nil {
		return nil, err
	}
	return t, nil
}

func invalid(hint, format string, args ...any) error {
	return &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, What: fmt.Sprintf(format, args...), Hint: hint}
}

// NextTrajectory reads the next trajectory, or returns io.EOF.
func (r *Reader) NextTrajectory() (*rl.Trajectory, error) {
	l, err := r.Line()
	if err != nil {
		return nil, err
	}
	return r.Trajectory(l)
}

// NextGood reads the next trajectory that can be used, or returns io.EOF. Lines
// before it that cannot be used are added to bad.
func (r *Reader) NextGood(bad *Bad) (*rl.Trajectory, error) {
	for {
		l, err := r.Line()
		if err != nil {
			return nil, err
		}
		t, err := r.Trajectory(l)
		if err == nil {
			return t, nil
		}
		bad.Add(l.Number, err)
	}
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
