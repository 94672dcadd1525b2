package runspage

import (
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/merit-rl/merit/core/run"
)

// The evaluations in which both policies play.
const (
	beforeTraining = "test-baseline"
	afterTraining  = "test-trained"
)

// lastRead caches what both policies wrote in the run that was shown last: reading it is slow,
// and readers go from one start to the next.
type lastRead struct {
	mu   sync.Mutex
	dir  string
	seen [2]fileState
	rows []writing
}

// fileState identifies the state of a file; a missing file has the zero state.
type fileState struct {
	size    int64
	changed time.Time
}

// of returns the first starts of a run at which both policies wrote, and reads them again if a
// file has changed. Callers must not change the rows.
func (w *lastRead) of(dir string) ([]writing, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := [2]fileState{stateOf(evaluation(dir, beforeTraining)), stateOf(evaluation(dir, afterTraining))}
	if w.rows != nil && w.dir == dir && w.seen == seen {
		return w.rows, nil
	}
	rows, err := bothWrote(dir, mostWritings)
	if err == nil {
		w.dir, w.seen, w.rows = dir, seen, rows
	}
	return rows, err
}

func stateOf(path string) fileState {
	info, err := os.Stat(path)
	if err != nil {
		return fileState{}
	}
	return fileState{info.Size(), info.ModTime()}
}

// evaluation returns the path of the episodes of an evaluation.
func evaluation(dir, name string) string {
	return filepath.Join(dir, run.Trajectories, name+".jsonl.zst")
}
