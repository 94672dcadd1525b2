package explain

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/data/jsonl"
)

// Choice selects a step. If several match, the first one with the largest |advantage| is
// chosen.
type Choice struct {
	Iteration  int    // of training; below 0 = any
	Trajectory string // its id; empty = any
	Step       int    // 0-based; below 0 = any
}

// Any selects the step with the largest |advantage| of all.
func Any() Choice { return Choice{Iteration: -1, Step: -1} }

func (c Choice) fits(group, trajectory string) bool {
	return (c.Trajectory == "" || c.Trajectory == trajectory) &&
		(c.Iteration < 0 || c.Iteration == cmp.Or(IterationOf(trajectory), IterationOf(group+"-g")))
}

// nothing returns the error that no step matches.
func (c Choice) nothing(path string) error {
	what := "there is no step"
	if c.Trajectory != "" {
		what += fmt.Sprintf(" of trajectory %q", c.Trajectory)
	}
	if c.Iteration >= 0 {
		what += fmt.Sprintf(" of iteration %d", c.Iteration)
	}
	if c.Step >= 0 {
		what += fmt.Sprintf(" with number %d", c.Step)
	}
	return &fault.Error{
		Boundary: fault.Data, Kind: fault.Missing, Where: path, What: what,
		Hint: "choose another step, or omit the flags for the step with the largest advantage; save.groups sets how many whole groups a run saves",
	}
}

// Find explains a step of a run directory, which is path, or of a file of trajectories or rows
// (see package rowio), in any format that package jsonl reads. From a run it chooses a
// training step whose whole group was saved, unless there is none or c selects another.
func Find(path string, s Settings, c Choice) (*Explanation, error) {
	dir := ""
	if info, err := os.Stat(path); err == nil && info.IsDir() && !jsonl.IsForeign(path) {
		dir, path = path, filepath.Join(path, run.Trajectories, run.TrainTrajectories)
	}
	rows, err := holdsRows(path)
	if err != nil {
		return nil, err
	}
	var e *Explanation
	if rows {
		e, err = findRow(path, s, c)
	} else {
		e, err = findStep(dir, path, s, c)
	}
	if err != nil {
		return nil, err
	}
	e.Source = path
	return e, nil
}

// holdsRows reports whether a file contains rows: its first line has an episode score and no
// messages.
func holdsRows(path string) (bool, error) {
	in, err := jsonl.Open(path, nil)
	if err != nil {
		return false, err
	}
	defer in.Close()
	l, err := in.Line()
	if errors.Is(err, io.EOF) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	return bytes.Contains(l.Text, []byte(`"episode_score"`)) && !bytes.Contains(l.Text, []byte(`"messages"`)), nil
}

// seen is what the first pass over a file records about a group.
type seen struct {
	name    string
	members int
	best    candidate
}

// candidate is a step that may be chosen.
type candidate struct {
	trajectory string
	step       int
	size       float64 // |advantage|; −1 without credit
}

// findStep explains a step of a file of trajectories, in two passes: one to find the step, one
// to read its group. Dir is the directory of the run, or empty.
func findStep(dir, path string, s Settings, c Choice) (*Explanation, error) {
	groups, credited, err := survey(path, c)
	if err != nil {
		return nil, err
	}
	if !credited {
		return findUncredited(path, s, c)
	}
	var best *seen
	whole := func(g *seen) bool { return g.members >= s.Members }
	for _, g := range groups {
		switch {
		case g.best.step < 0:
		case best == nil, whole(g) && !whole(best), whole(g) == whole(best) && g.best.size > best.best.size:
			best = g
		}
	}
	if best == nil {
		return nil, c.nothing(path)
	}
	whitened := s.Advantage.Whitens()
	if dir != "" && whitened && s.Moments == nil {
		if s.Moments, err = momentsOf(dir, IterationOf(best.best.trajectory)); err != nil {
			return nil, err
		}
	}
	b, err := readGroup(path, s, best.name)
	if err != nil {
		return nil, err
	}
	b.Expect(s.Members)
	row, err := b.choose(path, Choice{Iteration: -1, Trajectory: best.best.trajectory, Step: best.best.step})
	if err != nil {
		return nil, err
	}
	e := b.Explain(row)
	if whitened && s.Moments == nil {
		e.Notes = append(e.Notes, "the mean and deviation of the whole batch are unknown: these are those of the group, which the learner did not use")
	}
	return e, nil
}

// survey reads a file and records for each group, in the order of the file, the number of its
// members and the step that c selects; credited reports whether any step has credit.
func survey(path string, c Choice) (groups []*seen, credited bool, err error) {
	known := map[string]*seen{}
	for t, err := range jsonl.Trajectories(path) {
		if err != nil {
			return nil, false, err
		}
		name := cmp.Or(t.Group, t.ID)
		g := known[name]
		if g == nil {
			g = &seen{name: name, best: candidate{step: -1, size: -2}}
			known[name] = g
			groups = append(groups, g)
		}
		if t.BranchOf == "" {
			g.members++
		}
		for i := range t.Steps {
			credited = credited || t.Steps[i].Credit != nil
			if !c.fits(name, t.ID) || c.Step >= 0 && c.Step != i {
				continue
			}
			size := -1.0
			if credit := t.Steps[i].Credit; credit != nil {
				size = abs(credit.Advantage)
			}
			if size > g.best.size {
				g.best = candidate{t.ID, i, size}
			}
		}
	}
	return groups, credited, nil
}

// readGroup reads the members of one group.
func readGroup(path string, s Settings, name string) (*Batch, error) {
	var members []*rl.Trajectory
	for t, err := range jsonl.Trajectories(path) {
		if err != nil {
			return nil, err
		}
		if cmp.Or(t.Group, t.ID) == name {
			members = append(members, t)
		}
	}
	return FromTrajectories(s, path, members)
}

// findUncredited explains a step of trajectories without credit: all of them are one batch.
func findUncredited(path string, s Settings, c Choice) (*Explanation, error) {
	var all []*rl.Trajectory
	in, err := jsonl.Open(path, nil)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	for {
		t, err := in.NextTrajectory()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	b, err := FromTrajectories(s, path, all)
	if err != nil {
		return nil, err
	}
	row, err := b.choose(path, c)
	if err != nil {
		return nil, err
	}
	e := b.Explain(row)
	e.NotRead = in.Notes()
	return e, nil
}

// momentsOf returns the moments by which an iteration of a run was whitened, or nil if they
// are unknown.
func momentsOf(dir string, iteration int) (*advantage.Moments, error) {
	all, err := run.ReadMetrics(dir)
	if err != nil {
		return nil, err
	}
	return Moments(all, iteration), nil
}

// Moments returns the moments by which an iteration of a run was whitened, or nil if it was
// not whitened.
func Moments(all []run.Iteration, iteration int) *advantage.Moments {
	for _, it := range all {
		if it.Iteration == iteration && it.Advantage != nil && it.Advantage.Moments != nil {
			m := it.Advantage.Moments
			return &advantage.Moments{N: m.N, Mean: m.Mean, Deviation: m.Deviation}
		}
	}
	return nil
}
