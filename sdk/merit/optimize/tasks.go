package optimize

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/jsonl"
	"github.com/merit-rl/merit/core/rl"
)

// Tasks are files of tasks: JSON Lines, Parquet, CSV or TSV.
type Tasks struct {
	// Train has the tasks that the search may look at.
	Train string `yaml:"train" json:"train"`
	// HeldOut has the tasks on which the prompt is validated. Without it a share
	// of those in train is held out.
	HeldOut string `yaml:"held_out" json:"held_out"`
	// HeldOutShare is that share. Which tasks it takes depends on seed and on what
	// they ask, not on their order.
	HeldOutShare float64 `yaml:"held_out_share" json:"held_out_share"`
	// Map says which columns have the fields of a task, where they have other names.
	Map Map `yaml:"map" json:"map"`
	// Limit is the most tasks that are taken of each file; 0 = all.
	Limit int `yaml:"limit" json:"limit"`
}

// Map names columns; empty is a column of the field's own name.
type Map struct {
	// Prompt is the column with what is asked, a text.
	Prompt string `yaml:"prompt" json:"prompt"`
	// Messages is the column with a conversation, in the place of prompt.
	Messages string `yaml:"messages" json:"messages"`
	// GroundTruth is the column with what rewards compare with.
	GroundTruth string `yaml:"ground_truth" json:"ground_truth"`
	// ID is the column with the name of the task.
	ID string `yaml:"id" json:"id"`
}

// columns are those of m as a reader takes them.
func (m Map) columns() ([]jsonl.Column, error) {
	named := map[string]string{"prompt": m.Prompt, "messages": m.Messages, "ground_truth": m.GroundTruth, "id": m.ID}
	maps.DeleteFunc(named, func(_, column string) bool { return column == "" })
	return jsonl.TaskColumns(named)
}

// maxTasks bounds the tasks of a file in bytes of JSON: they are held in memory.
const maxTasks = 256 << 20

// Validate returns every problem of t, with key paths relative to the section.
func (t Tasks) Validate() []error {
	var p fault.Problems
	if t.Train == "" {
		p.Missing("train", "there are no tasks", "name a file of tasks: rows with prompt, and ground_truth for the reward")
	}
	if t.HeldOut == "" {
		p.Within("held_out_share", t.HeldOutShare, 0.05, 0.95)
	}
	p.AtLeast("limit", t.Limit, 0)
	if _, err := t.Map.columns(); err != nil {
		for _, each := range err.(interface{ Unwrap() []error }).Unwrap() {
			p = append(p, each)
		}
	}
	return p
}

// read returns the tasks to learn from and those that are held out. A task that
// stands in both files is an error: it would be no held-out task.
func (t Tasks) read(seed uint64) (train, heldOut []*rl.Task, err error) {
	if train, err = t.file(t.Train); err != nil {
		return nil, nil, err
	}
	if t.HeldOut == "" {
		train, heldOut = t.split(train, seed)
		return train, heldOut, nil
	}
	if heldOut, err = t.file(t.HeldOut); err != nil {
		return nil, nil, err
	}
	known := map[[sha256.Size]byte]string{}
	for _, task := range train {
		known[question(task)] = task.ID
	}
	var both []string
	for _, task := range heldOut {
		if id, twice := known[question(task)]; twice {
			both = append(both, fmt.Sprintf("%s (%s in the other file)", task.ID, id))
		}
	}
	if len(both) == 0 {
		return train, heldOut, nil
	}
	what := fmt.Sprintf("%d of its tasks stand in %s too: %s", len(both), t.Train, both[0])
	return nil, nil, &fault.Error{
		Boundary: fault.Data, Kind: fault.Invalid, Where: t.HeldOut, What: what,
		Hint: "remove them from one of the files: a task that the search has seen tells nothing of those that it has not",
	}
}

// file reads the tasks of a file in order. One that asks what another has asked
// is left out. Every row that is no task is listed.
func (t Tasks) file(path string) (all []*rl.Task, err error) {
	columns, err := t.Map.columns()
	if err != nil {
		return nil, err
	}
	r, err := jsonl.Open(path, nil)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	r.MapTasks(columns)
	var bad jsonl.Bad
	seen := map[[sha256.Size]byte]bool{}
	for t.Limit == 0 || len(all) < t.Limit {
		task, line, err := r.NextTask(&bad)
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, errors.Join(bad.Err(r.Name()), err)
		}
		if r.Bytes() > maxTasks {
			return nil, &fault.Error{
				Boundary: fault.Data, Kind: fault.Exhausted, Where: r.At(line.Number), What: fmt.Sprintf("up to here are more than %d MiB of tasks", maxTasks>>20),
				Hint: "they are held in memory: set tasks.limit",
			}
		}
		if task.ID == "" {
			task.ID = fmt.Sprintf("%s %d", r.Unit(), line.Number)
		}
		if q := question(task); !seen[q] {
			seen[q] = true
			all = append(all, task)
		}
	}
	return all, bad.Err(r.Name())
}

// split holds a share of all out. Both keep the order of the file.
func (t Tasks) split(all []*rl.Task, seed uint64) (train, heldOut []*rl.Task) {
	place := func(task *rl.Task) []byte {
		q := question(task)
		sum := sha256.Sum256(binary.LittleEndian.AppendUint64(q[:], seed))
		return sum[:]
	}
	order := slices.Clone(all)
	slices.SortFunc(order, func(a, b *rl.Task) int { return bytes.Compare(place(a), place(b)) })
	held := map[*rl.Task]bool{}
	for _, task := range order[:int(math.Round(t.HeldOutShare*float64(len(order))))] {
		held[task] = true
	}
	for _, task := range all {
		if held[task] {
			heldOut = append(heldOut, task)
		} else {
			train = append(train, task)
		}
	}
	return train, heldOut
}

// question is a digest of what a task asks.
func question(t *rl.Task) [sha256.Size]byte {
	text, err := json.Marshal(t.Messages)
	if err != nil { // strings, and JSON that was read: cannot fail
		panic(err)
	}
	return sha256.Sum256(text)
}
