package rewardcmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/merit-rl/merit/core/align"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/scoring"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/internal/rewards/guest"
	"github.com/merit-rl/merit/sdk/merit"
)

// fixtureFile is a file of trajectories for trying a reward.
type fixtureFile struct {
	path         string
	trajectories []*rl.Trajectory
	notes        []string // what a file of another tool says that was not read
}

const expectedSuffix = ".expected.jsonl"

// expected returns the path of the golden results.
func (f fixtureFile) expected() string {
	return strings.TrimSuffix(f.path, ".jsonl") + expectedSuffix
}

// readFixtures reads the fixtures of a reward: data if it is set, else fixtures/*.jsonl in the
// reward's folder, else, if sample is true, the conversations of new rewards.
func readFixtures(folder, data string, sample bool) ([]fixtureFile, error) {
	var paths []string
	if data != "" {
		paths = []string{data}
	} else {
		found, _ := fs.Glob(os.DirFS(folder), "fixtures/*.jsonl") // the pattern is valid
		for _, path := range found {
			if !strings.HasSuffix(path, expectedSuffix) {
				paths = append(paths, filepath.Join(folder, path))
			}
		}
	}
	sort.Strings(paths)
	var files []fixtureFile
	for _, path := range paths {
		in, err := jsonl.Open(path, nil)
		if err != nil {
			return nil, err
		}
		f, err := readFixture(path, in)
		if err := errors.Join(err, in.Close()); err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	if len(files) == 0 && sample {
		conversations, err := Sample()
		return []fixtureFile{{path: builtin, trajectories: conversations}}, err
	}
	if len(files) == 0 {
		return nil, &fault.Error{
			Boundary: fault.Data, Kind: fault.Missing, Where: folder, What: "contains no fixtures",
			Hint: "write trajectories to fixtures/<name>.jsonl, or name a file with --data",
		}
	}
	return files, nil
}

// notRead prints what was not read of the files.
func notRead(h *console.Host, files ...fixtureFile) {
	for _, f := range files {
		h.Notes(f.notes)
	}
}

// Rows returns the trajectories to try the reward at path on, and whether they are Merit's own: the
// rows of data with its columns, else the fixtures in the reward's folder.
func Rows(h *console.Host, path, data string, columns []jsonl.Column) (rows []*rl.Trajectory, own bool, err error) {
	if data != "" {
		f, err := mapped(data, columns)
		notRead(h, f)
		return f.trajectories, false, err
	}
	files, err := readFixtures(folderOf(path), "", true)
	for _, f := range files {
		rows, own = append(rows, f.trajectories...), f.path == builtin
	}
	return rows, own, err
}

// mapped reads a file of which fields may have other names.
func mapped(path string, columns []jsonl.Column) (f fixtureFile, err error) {
	in, err := jsonl.Open(path, nil)
	if err != nil {
		return f, err
	}
	in.Map(columns)
	if err = in.Fit(); err == nil {
		f, err = readFixture(path, in)
	}
	return f, errors.Join(err, in.Close())
}

// Sample returns the conversations of new rewards.
func Sample() ([]*rl.Trajectory, error) {
	in, err := jsonl.NewReader(builtin, bytes.NewReader(guest.Conversations))
	if err != nil {
		return nil, err
	}
	f, err := readFixture(builtin, in)
	return f.trajectories, err
}

func readFixture(path string, in *jsonl.Reader) (fixtureFile, error) {
	f := fixtureFile{path: path}
	var bad jsonl.Bad
	for {
		t, err := in.NextGood(&bad)
		if errors.Is(err, io.EOF) {
			f.notes = in.Notes()
			return f, bad.Err(path)
		} else if err != nil {
			return f, err
		}
		f.trajectories = append(f.trajectories, t)
	}
}

// evaluate scores the trajectories of a file, in order or in reverse.
func (f fixtureFile) evaluate(ctx context.Context, j *merit.Rewards, reverse bool) ([]reward.Evaluation, error) {
	pool := reward.NewPool(j.Parts, 1)
	order, ends := pool.Units(f.trajectories)
	evaluations := make([]reward.Evaluation, len(f.trajectories))
	for k := range ends {
		if reverse { // reverse the groups, and keep the order within each
			k = len(ends) - 1 - k
		}
		from := 0
		if k > 0 {
			from = ends[k-1]
		}
		at := order[from:ends[k]]
		members := make([]*rl.Trajectory, len(at))
		for i := range at {
			members[i] = f.trajectories[at[i]]
		}
		for i, e := range pool.EvaluateUnit(ctx, members) {
			evaluations[at[i]] = align.Check(members[i], e, pool.StepIndexing())
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return evaluations, nil
}

// builtin replaces the path of the conversations of new rewards.
const builtin = "built-in"

// golden is a result without the fuel, which depends on the compiler.
type golden struct {
	scoring.Result
	Fuel *uint64 `json:"fuel,omitempty"`
}

func goldenLine(t *rl.Trajectory, e reward.Evaluation) ([]byte, error) {
	return json.Marshal(golden{Result: scoring.NewResult(t, e)})
}
