package show

import (
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/data/jsonl"
)

// Files returns the files that path means: the file itself, or the
// trajectories of a run directory in the order in which they were written.
func Files(path string) ([]string, error) {
	info, err := os.Stat(path)
	if path == "-" || (err == nil && (!info.IsDir() || jsonl.IsForeign(path))) {
		return []string{path}, nil
	}
	if err != nil {
		return nil, &fault.Error{Boundary: fault.Data, Kind: fault.Missing, What: "cannot read", Err: err, Hint: "give a run directory or a file of trajectories"}
	}
	var files []string
	for _, dir := range []string{filepath.Join(path, "trajectories"), path} {
		found, _ := fs.Glob(os.DirFS(dir), "*.jsonl*") // the pattern is valid
		for _, f := range found {
			if !strings.HasPrefix(f, "metrics.") && filepath.Ext(f) != ".part" {
				files = append(files, filepath.Join(dir, f))
			}
		}
		if len(files) > 0 {
			break
		}
	}
	if len(files) == 0 {
		return nil, &fault.Error{Boundary: fault.Data, Kind: fault.Missing, Where: path, What: "contains no trajectories", Hint: "check the save section of the configuration, which determines what a run keeps"}
	}
	sort.Slice(files, func(i, j int) bool {
		a, b := filepath.Base(files[i]), filepath.Base(files[j])
		if training := a == run.TrainTrajectories; training != (b == run.TrainTrajectories) {
			return training // written before the final evaluations
		}
		return a < b
	})
	return files, nil
}
