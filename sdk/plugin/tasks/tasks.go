// Package tasks reads the tasks of an environment from a data file: JSON Lines,
// Parquet, CSV or TSV, plain or compressed, with any column names. Embed Source in
// the options of a plug-in, call Read in Check and New, deal the tasks to the
// splits by Key, and pass a task to plugin.Turn.Task in Reset. Rewards then receive
// the ground truth and the other columns.
package tasks

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/sdk/plugin"
)

// Limits of the file. Each process of an environment holds the tasks in memory.
const (
	maxBytes = 256 << 20 // bytes of all rows as JSON
	MaxTask  = 960 << 10 // bytes of one row as JSON
)

// Source is the options of an environment with tasks from a file.
type Source struct {
	File string            `json:"file" doc:"the file with the tasks"`
	Map  map[string]string `json:"map" doc:"names of columns by the field of a task that they fill: prompt or messages, ground_truth, id"`
}

// Rows reports whether File is a file of rows: because of its extension, or
// because Map names columns of it.
func (s Source) Rows() bool {
	name := strings.ToLower(s.File)
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	return len(s.Map) > 0 || slices.Contains([]string{".jsonl", ".ndjson", ".json", ".parquet", ".csv", ".tsv"}, filepath.Ext(name))
}

// Read returns the tasks of the file in order. If a prompt occurs twice with
// the same ground truth, Read keeps the first task; with different ground
// truths, it returns an error. The error lists all unusable rows and names the
// options.
func (s Source) Read() ([]plugin.Task, error) { return s.ReadWithin(maxBytes) }

// ReadWithin is Read with a limit of most bytes of rows, as JSON.
func (s Source) ReadWithin(most int) ([]plugin.Task, error) {
	columns, err := jsonl.TaskColumns(s.Map)
	if err != nil {
		return nil, asOptions(err)
	}
	r, err := jsonl.Open(s.File, nil)
	if err != nil {
		return nil, ofFile(err)
	}
	defer r.Close()
	r.MapTasks(columns)
	all, err := read(r, most)
	return all, ofFile(err)
}

func read(r *jsonl.Reader, most int) (all []plugin.Task, err error) {
	var bad jsonl.Bad
	seen := map[[sha256.Size]byte]first{}
	bytes := 0
	for {
		t, line, err := r.NextTask(&bad)
		if errors.Is(err, io.EOF) {
			return all, bad.Err(r.Name())
		} else if err != nil {
			return nil, errors.Join(bad.Err(r.Name()), err)
		}
		if bytes += len(line.Text); bytes > most {
			return nil, &fault.Error{
				Boundary: fault.Data, Kind: fault.Exhausted, Where: r.At(line.Number), What: fmt.Sprintf("the tasks up to this row exceed the limit of %d bytes", most),
				Hint: "use a part of the file, or leave out columns that no reward reads: tasks are held in memory",
			}
		}
		before, twice := seen[sum(t)]
		switch {
		case len(line.Text) > MaxTask:
			bad.AddLine(line, fmt.Errorf("is longer than %d KiB", MaxTask>>10))
		case twice && before.truth != string(t.GroundTruth):
			bad.AddLine(line, fmt.Errorf("has the same prompt as %s %d but another ground truth", r.Unit(), before.number))
		case !twice:
			seen[sum(t)] = first{line.Number, string(t.GroundTruth)}
			all = append(all, *t)
		}
	}
}

// first is the first row with a prompt.
type first struct {
	number int
	truth  string
}

func sum(t *plugin.Task) [sha256.Size]byte { return sha256.Sum256([]byte(Key(*t))) }

// Key returns the text of the task if it is a single text message of a user,
// and otherwise the JSON of its messages. Two tasks have the same key if and
// only if they have the same prompt, so the key can be an anchor.
func Key(t plugin.Task) string {
	if len(t.Messages) == 1 && t.Messages[0].Role == rl.RoleUser && t.Messages[0].Content.Parts() == nil {
		return t.Messages[0].Content.Text()
	}
	text, err := json.Marshal(t.Messages)
	if err != nil { // strings and JSON that was decoded cannot fail
		panic(err)
	}
	return string(text)
}

// asOptions turns problems of the settings of package jsonl into problems of
// the options.
func asOptions(err error) error {
	var errs []error
	for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
		f := fault.As(e)
		errs = append(errs, plugin.Problem(f.Where, f.What, f.Hint))
	}
	return errors.Join(errs...)
}

// ofFile turns errors of the file into problems of the option file.
func ofFile(err error) error {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		var errs []error
		for _, e := range several.Unwrap() {
			errs = append(errs, ofFile(e))
		}
		return errors.Join(errs...)
	}
	f := fault.As(err)
	if f == nil {
		return err
	}
	return plugin.Problem("file", f.Error(), f.Hint)
}
