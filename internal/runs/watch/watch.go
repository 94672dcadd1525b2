// Package watch raises Merit's red flags over training that another trainer did. It reads
// the rollouts that the trainer stored, one iteration at a time, measures each as a run of
// Merit does, and asks core/monitor.
package watch

import (
	"context"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/monitor"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/data/jsonl"
)

// Options say how to read rollouts.
type Options struct {
	By      string         // column of the training step; empty means step
	Score   string         // column of the score; empty means the score that the file stores, then score, then reward
	Success string         // a number: the least score of a success; or a metric or column that is true or at least 1
	Watch   []string       // metrics or columns that must not fall while the score rises, as monitor.Config.Watch
	Window  int            // iterations that a trend averages over
	Columns []jsonl.Column // of jsonl.Reader.Map
}

// Report is what was found.
type Report struct {
	Iterations int      `json:"iterations"`
	First      int      `json:"first"` // training step of the first iteration
	Last       int      `json:"last"`  // training step of the last iteration
	Episodes   int      `json:"episodes"`
	Unscored   int      `json:"unscored"` // episodes without a score
	Success    float64  `json:"success"`  // share of successes among the scored episodes of the last iteration
	Flags      []Flag   `json:"flags"`    // in the order in which they were raised
	NotWatched []Gap    `json:"not_watched"`
	NotRead    []string `json:"not_read,omitempty"` // what the files have and Merit does not read
}

// Flag is a red flag at a training step.
type Flag struct {
	run.Alarm
	// Files are those with the episodes of the iteration.
	Files []string `json:"files"`
	// First is the one of them with the first of Trajectories.
	First string `json:"first,omitempty"`
}

// Gap names flags that cannot be raised, and says why.
type Gap struct {
	Flags []string `json:"flags"`
	Why   string   `json:"why"`
}

// Rollouts returns the red flags over the rollouts in the files at paths; a folder means
// its data files. It returns all unusable rows of all files as one error.
func Rollouts(ctx context.Context, paths []string, o Options) (*Report, error) {
	w := newWatcher(o)
	files, err := listed(paths)
	if err != nil {
		return nil, err
	}
	if err := w.read(ctx, files); err != nil {
		return nil, err
	}
	w.end()
	if err := w.complete(files); err != nil {
		return nil, err
	}
	w.report.NotWatched = w.gaps()
	return w.report, nil
}

// watcher measures iterations, of which it keeps no episodes.
type watcher struct {
	o       Options
	c       monitor.Config
	least   float64 // the score of a success, unless named
	named   string  // the metric that says whether an episode succeeded
	history []run.Iteration
	report  *Report

	batch []*rl.Trajectory          // episodes of the current iteration
	file  map[*rl.Trajectory]string // where each is from
	step  int                       // its training step
	files []string                  // and its files

	env, success  bool            // an episode had a reward of the environment, or succeeded
	words, groups bool            // there is text of the policy, or a group of several
	found         map[string]bool // of the names of wanted
}

func newWatcher(o Options) *watcher {
	w := &watcher{o: o, c: monitor.Default(), report: &Report{Flags: []Flag{}, NotWatched: []Gap{}}, found: map[string]bool{}, file: map[*rl.Trajectory]string{}}
	w.c.Window = o.Window
	if v, err := number([]byte(o.Success)); err == nil {
		w.least = v
	} else {
		w.named = o.Success
	}
	var names []string
	if w.named != "" && !slices.Contains(o.Watch, w.named) {
		names = []string{key(w.named)}
	}
	for _, name := range o.Watch {
		bare := strings.TrimPrefix(name, "-")
		names = append(names, strings.TrimSuffix(name, bare)+key(bare))
	}
	w.c.Watch = append(names, w.c.Watch...)
	return w
}

// wanted returns the names of metrics and columns that the options name.
func (w *watcher) wanted() (names []string) {
	for _, name := range append([]string{w.named}, w.o.Watch...) {
		if name = strings.TrimPrefix(name, "-"); name != "" && !measured[name] && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// measured are the names in monitor.Config.Watch that are measured of every text.
var measured = map[string]bool{"env_reward": true, "words": true, "distinct": true, "different": true}

// key returns the name of a column as a metric. To the monitor, success is the share of
// episodes that succeeded.
func key(name string) string {
	if name == "success" {
		return "column success"
	}
	return name
}
