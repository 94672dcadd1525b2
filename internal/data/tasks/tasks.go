// Package tasks reads the tasks of a search or of a council from a file: JSON Lines,
// Parquet, CSV or TSV, with configurable columns.
package tasks

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/data/jsonl"
)

// Map maps fields to columns; empty means the column with the field's name.
type Map struct {
	// Prompt is the column with the question, a text.
	Prompt string `yaml:"prompt" json:"prompt"`
	// Messages is the column with a conversation, instead of prompt.
	Messages string `yaml:"messages" json:"messages"`
	// GroundTruth is the column with the value that rewards compare with.
	GroundTruth string `yaml:"ground_truth" json:"ground_truth"`
	// ID is the column with the name of the task.
	ID string `yaml:"id" json:"id"`
}

// columns converts m to the form that a reader takes.
func (m Map) columns() ([]jsonl.Column, error) {
	named := map[string]string{"prompt": m.Prompt, "messages": m.Messages, "ground_truth": m.GroundTruth, "id": m.ID}
	maps.DeleteFunc(named, func(_, column string) bool { return column == "" })
	return jsonl.TaskColumns(named)
}

// Validate returns every problem of m.
func (m Map) Validate() (p []error) {
	if _, err := m.columns(); err != nil {
		for _, problem := range err.(interface{ Unwrap() []error }).Unwrap() {
			f := *fault.As(problem)
			f.Where = strings.TrimPrefix(strings.TrimPrefix(f.Where, "map"), ".")
			p = append(p, &f)
		}
	}
	return p
}

// maxTasks is the maximum size of a file's tasks in bytes of JSON, because they stay in memory.
const maxTasks = 256 << 20

// Read returns at most limit tasks of a file in order; 0 means all. It skips a task whose
// question is a duplicate. The error lists every invalid row.
func Read(path string, m Map, limit int) (all []*rl.Task, err error) {
	columns, err := m.columns()
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
	for limit == 0 || len(all) < limit {
		task, line, err := r.NextTask(&bad)
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, errors.Join(bad.Err(r.Name()), err)
		}
		if r.Bytes() > maxTasks {
			return nil, &fault.Error{
				Boundary: fault.Data, Kind: fault.Exhausted, Where: r.At(line.Number), What: fmt.Sprintf("the tasks up to this line have more than %d MiB", maxTasks>>20),
				Hint: "set tasks.limit; all tasks are held in memory",
			}
		}
		if task.ID == "" {
			task.ID = fmt.Sprintf("%s %d", r.Unit(), line.Number)
		}
		if q := Question(task); !seen[q] {
			seen[q] = true
			all = append(all, task)
		}
	}
	return all, bad.Err(r.Name())
}

// Question returns a digest of a task's question.
func Question(t *rl.Task) [sha256.Size]byte {
	text, err := json.Marshal(t.Messages)
	if err != nil { // strings, and JSON that was read: cannot fail
		panic(err)
	}
	return sha256.Sum256(text)
}
