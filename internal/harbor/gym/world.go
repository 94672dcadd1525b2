// Package gym makes Harbor tasks an environment: a reset begins a trial on a fork of the
// task's image, a step is the agent's commands, and the verifier's reward ends the episode.
package gym

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/box"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/harbor/image"
	"github.com/merit-rl/merit/internal/harbor/task"
	"github.com/merit-rl/merit/internal/harbor/trial"
)

// Options are the options of the environment.
type Options struct {
	// MaxSteps is how many turns an agent has. The verifier judges what it left then.
	MaxSteps int `json:"max_steps"`
	// Output is how many bytes of the output of a command the agent sees: the beginning and
	// the end of more.
	Output int `json:"output"`
	// Reward names the reward to train on, of a verifier that gives several.
	Reward string `json:"reward"`
	// Skip leaves out tasks that need more than a machine has, instead of refusing the folder.
	Skip bool `json:"skip"`
}

// DefaultOptions returns the options that are used if none are set.
func DefaultOptions() Options { return Options{MaxSteps: 50, Output: 16 << 10} }

// ParseOptions reads options from JSON; the problems are relative to them.
func ParseOptions(text []byte) (o Options, err error) {
	o = DefaultOptions()
	if len(bytes.TrimSpace(text)) > 0 {
		if err := strictjson.UnmarshalKnown(text, &o); err != nil {
			return o, &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: "options", What: err.Error(), Hint: "the options are max_steps, output, reward and skip"}
		}
	}
	var p fault.Problems
	p.Whole("options.max_steps", o.MaxSteps, 1, 10_000)
	p.Whole("options.output", o.Output, 256, 1<<20)
	return o, errors.Join(p...)
}

// World is a folder of tasks whose images are built when they are first played. It is safe for
// concurrent use.
type World struct {
	maker   box.Maker
	options Options
	tasks   []*entry
	// Skipped are tasks that were left out, with what they need.
	Skipped map[string][]image.Need
}

// entry is a task and its image.
type entry struct {
	*task.Task
	split    string // that of its subfolder, if it is in one
	once     sync.Once
	prepared *trial.Prepared
	err      error
}

// Load reads the tasks in a folder, or the task that it is, and checks that each runs.
func Load(ctx context.Context, m box.Maker, dir string, o Options) (*World, error) {
	dirs, splits, err := findAll(dir)
	if err != nil {
		return nil, err
	}
	v, err := image.Take(ctx, m)
	if err != nil {
		return nil, err
	}
	w := &World{maker: m, options: o, Skipped: map[string][]image.Need{}}
	var problems []error
	for i, d := range dirs {
		t, err := task.Load(d)
		if err == nil {
			var e *image.Examined
			if e, err = image.Examine(t, v); err == nil && len(e.Needs) > 0 {
				if w.Skipped[d] = e.Needs; !o.Skip {
					err = Refused(d, e.Needs)
				}
			}
		}
		if err != nil {
			problems = append(problems, err)
		} else if len(w.Skipped[d]) == 0 {
			w.tasks = append(w.tasks, &entry{Task: t, split: splits[i]})
		}
	}
	if len(problems) == 0 && len(w.tasks) == 0 {
		problems = append(problems, &fault.Error{Boundary: fault.Data, Kind: fault.Refused, Where: dir, What: "no task of this folder runs on a machine", Hint: "without options.skip, the error says what they need"})
	}
	return w, errors.Join(problems...)
}

// Refused is the error of a task that needs more than a machine has.
func Refused(dir string, needs []image.Need) error {
	text := ""
	for i, n := range needs {
		if i > 0 {
			text += ", "
		}
		text += n.String()
	}
	return &fault.Error{
		Boundary: fault.Data, Kind: fault.Refused, Where: dir, What: "the task needs what machines without a container lack: " + text,
		Hint: "run it in a container, or leave it out of the environment with options.skip",
	}
}

// folders are those by which a folder of tasks assigns its splits itself.
var folders = []string{"train", "validation", "test"}

// findAll returns the folders of tasks in a folder, with the split of each; "" if none is assigned.
func findAll(dir string) (all, splits []string, err error) {
	for _, f := range folders {
		if _, err := os.Stat(filepath.Join(dir, f)); err == nil {
			found, err := task.Find(filepath.Join(dir, f))
			if err != nil {
				return nil, nil, err
			}
			all, splits = append(all, found...), append(splits, slices.Repeat([]string{f}, len(found))...)
		}
	}
	if all == nil {
		all, err = task.Find(dir)
		splits = make([]string, len(all))
	}
	return all, splits, err
}

// fewest is from how many tasks on a folder is split by Merit.
const fewest = 10

// of returns the tasks of a split. Subfolders called train, validation and test decide, or
// else the names of the tasks: of ten, one is for validation and one for tests. Fewer than ten
// tasks are all in each split.
func (w *World) of(split string) (tasks []*entry) {
	for _, t := range w.tasks {
		if t.split == split || t.split == "" && (len(w.tasks) < fewest || drawn(t.Name) == split) {
			tasks = append(tasks, t)
		}
	}
	return tasks
}

func drawn(name string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	switch h.Sum64() % 10 {
	case 0:
		return "validation"
	case 1:
		return "test"
	}
	return "train"
}

// Digest is the SHA-256 of all tasks.
func (w *World) Digest() string {
	sum := sha256.New()
	for _, t := range w.tasks {
		fmt.Fprintf(sum, "%q %s\n", t.Name, t.Digest)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Open returns an environment that plays the tasks of a split.
func (w *World) Open(split string, slots int) (env.Env, error) {
	tasks := w.of(split)
	if len(tasks) == 0 {
		return nil, &fault.Error{Boundary: fault.Data, Kind: fault.Missing, Where: "environment.harbor", What: "the split " + split + " has no task", Hint: "put tasks into a subfolder with the name of the split"}
	}
	e := &environment{world: w, tasks: tasks, slots: make([]slot, slots)}
	e.spec = env.Spec{Name: "harbor", Version: "1", Slots: slots, MaxSteps: w.options.MaxSteps, System: system, Tools: json.RawMessage(tools), Tasks: len(tasks), Snapshots: true}
	return e, nil
}

// prepare builds the image of a task, once.
func (w *World) prepare(ctx context.Context, t *entry) (*trial.Prepared, error) {
	t.once.Do(func() { t.prepared, t.err = trial.Prepare(context.WithoutCancel(ctx), w.maker, t.Task) })
	return t.prepared, t.err
}

// Close frees the images; the maker stays open.
func (w *World) Close() {
	for _, t := range w.tasks {
		if t.prepared != nil {
			t.prepared.Close()
		}
	}
}

const system = `You work on a computer through the tool bash. Each call runs a command in a new shell,
in the working directory of the task, and returns what it prints. There is no network and no
terminal. When the task is done, answer with a text and without a call.`

const tools = `[{"type": "function", "function": {"name": "bash", "description": "Run a command in bash and return its output and, unless it is 0, its exit status.",` +
	` "parameters": {"type": "object", "properties": {"command": {"type": "string", "description": "the command, which may have several lines"}}, "required": ["command"], "additionalProperties": false}}}]`
