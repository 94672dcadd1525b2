// Package tasks reads the tasks of an environment from a file of data: JSON
// Lines, Parquet, CSV or TSV, plain or compressed, with the columns that its
// author chose. Embed Source in the options of a plug-in, Read what it names in
// Check and New, deal it to the splits by Key, and say it in Reset with
// plugin.Turn.Task: then ground truths and other columns reach the rewards.
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

// Bounds of what is read. Tasks are held in memory, in each process of an
// environment.
const (
	maxBytes = 256 << 20 // of all rows, as JSON
	MaxTask  = 960 << 10 // of one row
)

// Source are the options of an environment with tasks from a file.
type Source struct {
	File string            `json:"file"` // the file of tasks
	Map  map[string]string `json:"map"`  // fields of a task from columns of other names: prompt or messages, ground_truth, id
}

// Rows reports whether the file is one of rows: by the ending of its name,
// or because columns of it are named.
func (s Source) Rows() bool {
	name := strings.ToLower(s.File)
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	return len(s.Map) > 0 || slices.Contains([]string{".jsonl", ".ndjson", ".json", ".parquet", ".csv", ".tsv"}, filepath.Ext(name))
}

// Read returns the tasks of the file in order. A prompt that is there twice with
// one ground truth is one task, the first; with another ground truth it is an
// error. All rows that cannot be used are listed; errors name the options.
func (s Source) Read() ([]plugin.Task, error) { return s.ReadWithin(maxBytes) }

// ReadWithin is Read of at most so many bytes of rows, as JSON.
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
				Boundary: fault.Data, Kind: fault.Exhausted, Where: r.At(line.Number), What: fmt.Sprintf("up to here are more than %d bytes of tasks", most),
				Hint: "they are held in memory: take a part of the file, or leave out columns that no reward reads",
			}
		}
		before, twice := seen[sum(t)]
		switch {
		case len(line.Text) > MaxTask:
			bad.AddLine(line, fmt.Errorf("is longer than %d KiB", MaxTask>>10))
		case twice && before.truth != string(t.GroundTruth):
			bad.AddLine(line, fmt.Errorf("has the prompt of %s %d and another ground truth", r.Unit(), before.number))
		case !twice:
			seen[sum(t)] = first{line.Number, string(t.GroundTruth)}
			all = append(all, *t)
		}
	}
}

// first is where a prompt was met first.
type first struct {
	number int
	truth  string
}

func sum(t *plugin.Task) [sha256.Size]byte { return sha256.Sum256([]byte(Key(*t))) }

// Key is the same for two tasks if and only if they ask the same: the text of a
// user alone, or the JSON of the messages. It is fit to be an anchor.
func Key(t plugin.Task) string {
	if len(t.Messages) == 1 && t.Messages[0].Role == rl.RoleUser && t.Messages[0].Content.Parts() == nil {
		return t.Messages[0].Content.Text()
	}
	text, err := json.Marshal(t.Messages)
	if err != nil { // strings, and JSON that was read: cannot fail
		panic(err)
	}
	return string(text)
}

// asOptions names options where package jsonl names settings.
func asOptions(err error) error {
	var errs []error
	for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
		f := fault.As(e)
		errs = append(errs, plugin.Problem(f.Where, f.What, f.Hint))
	}
	return errors.Join(errs...)
}

// ofFile makes errors of the file those of its option.
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
