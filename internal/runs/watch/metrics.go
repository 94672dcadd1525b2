package watch

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/telemetry/eventfile"
)

// maxMetrics limits a line of metrics, and a document with all of them, in bytes.
const maxMetrics = 256 << 20

// stepNames are the names of the training step in rows of metrics.
var stepNames = []string{"step", "_step", "global_step", "train/global_step", "training/global_step", "iteration"}

// episodic are columns that rows of rollouts have, and rows of metrics do not.
var episodic = []string{"messages", "prompt", "completion", "input", "output", "response", "trajectory", "id"}

// Metrics returns the red flags over the metrics that a trainer logged: JSON Lines, TRL's
// trainer_state.json, or TensorBoard's event files. It returns nil if the files at paths are
// something else, such as rollouts.
func Metrics(ctx context.Context, paths []string, o Options) (*Report, error) {
	t := newTable()
	for _, path := range paths {
		known, err := t.read(ctx, path, o)
		if err != nil {
			return nil, err
		}
		if !known {
			return nil, nil
		}
	}
	return t.look(o, strings.Join(paths, ", "))
}

func (t *table) read(ctx context.Context, path string, o Options) (known bool, err error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return t.folder(ctx, path)
	}
	if isEvents(path) {
		return true, t.events(ctx, path)
	}
	return t.rows(ctx, path, o)
}

// isEvents reports whether TensorBoard would read a file of this name.
func isEvents(path string) bool { return strings.Contains(filepath.Base(path), "tfevents") }

// folder reads the event files of a folder and the folders in it, in the order of their names, or
// the trainer_state.json of TRL.
func (t *table) folder(ctx context.Context, path string) (known bool, err error) {
	var files []string
	err = filepath.WalkDir(path, func(file string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && isEvents(file) {
			files = append(files, file)
		}
		return nil // what cannot be read is not an event file
	})
	slices.SortFunc(files, natural)
	for _, file := range files {
		err = errors.Join(err, t.events(ctx, file))
	}
	if state := filepath.Join(path, "trainer_state.json"); err == nil && len(files) == 0 {
		if _, none := os.Stat(state); none == nil {
			return t.rows(ctx, state, Options{})
		}
	}
	return len(files) > 0, err
}

func (t *table) events(ctx context.Context, file string) error {
	return eventfile.Read(file, func(x eventfile.Number) error {
		if x.Step >= 0 && x.Step <= 1<<53 {
			t.add(int(x.Step), x.Tag, x.Value)
		}
		return ctx.Err()
	})
}

// rows reads JSON Lines, or a document with a log_history. known is false if the first row is not
// one of metrics.
func (t *table) rows(ctx context.Context, file string, o Options) (known bool, err error) {
	f, err := os.Open(file)
	if err != nil {
		return false, nil // the reader of rollouts reports it
	}
	defer f.Close()
	in := bufio.NewReaderSize(io.LimitReader(f, maxMetrics), 1<<16)
	head, _ := in.Peek(1 << 16)
	if trimmed := bytes.TrimLeft(head, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' {
		return false, nil
	}
	if bytes.Contains(head, []byte(`"log_history"`)) || filepath.Base(file) == "trainer_state.json" {
		return t.history(file, in)
	}
	for number := 1; ; number++ {
		if err := ctx.Err(); err != nil {
			return known, err
		}
		line, err := in.ReadBytes('\n')
		cut := errors.Is(err, io.EOF)
		if err != nil && !cut {
			return known, &fault.Error{Boundary: fault.Data, Kind: fault.Corrupt, Where: file, What: "cannot be read", Err: err, Hint: "check the disk"}
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			row, err := decodeRow(line)
			switch {
			case err != nil && cut && known:
				return true, nil // the trainer is writing it
			case err != nil && !known:
				return false, nil
			case err != nil:
				return true, &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, Where: fmt.Sprintf("%s:%d", file, number), What: "is not a row of metrics", Err: err, Hint: "pass the file in which the trainer logs metrics, one JSON object per line"}
			case !known && !isMetrics(row, o):
				return false, nil
			}
			known = true
			t.put(row, number)
		}
		if cut {
			return known, nil
		}
	}
}

// history reads the document in which TRL keeps what it logged.
func (t *table) history(file string, in io.Reader) (bool, error) {
	text, err := io.ReadAll(in)
	var document struct {
		History []json.RawMessage `json:"log_history"`
	}
	if err == nil {
		err = strictjson.Unmarshal(finite(text), &document)
	}
	for i, raw := range document.History {
		var row map[string]json.RawMessage
		if row, err = decodeRow(raw); err != nil {
			break
		}
		t.put(row, i+1)
	}
	if err != nil {
		err = &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, Where: file, What: "is not the state of a trainer", Err: err, Hint: "pass trainer_state.json, or the file in which the trainer logs metrics"}
	}
	return true, err
}

// special are numbers that Python writes and JSON does not have.
var special = regexp.MustCompile(`([:\[,]\s*)(NaN|-?Infinity)(\s*[,}\]])`)

// finite replaces numbers that JSON does not have by null, if there are any.
func finite(text []byte) []byte {
	if !bytes.Contains(text, []byte("NaN")) && !bytes.Contains(text, []byte("Infinity")) {
		return text
	}
	return special.ReplaceAll(text, []byte("${1}null${3}"))
}

func decodeRow(text []byte) (row map[string]json.RawMessage, err error) {
	return row, strictjson.Unmarshal(finite(text), &row)
}

// isMetrics reports whether a row is one of metrics: it has numbers and a step, and no episode.
func isMetrics(row map[string]json.RawMessage, o Options) bool {
	for _, name := range episodic {
		if raw, ok := row[name]; ok && (raw[0] == '"' || raw[0] == '[' || raw[0] == '{') {
			return false
		}
	}
	if data, ok := row["data"]; ok && data[0] == '{' && row["step"] != nil { // verl's FileLogger
		return true
	}
	for name := range row {
		bare := strings.TrimPrefix(name, "train/")
		if bare == o.Score || slices.Contains(scoreNames, bare) || slices.ContainsFunc(figures, func(f figure) bool { return slices.Contains(f.names, bare) }) {
			return true
		}
	}
	return false
}

// put adds the numbers of a row. A row without a step has the number of its line.
func (t *table) put(row map[string]json.RawMessage, line int) {
	step := line
	for _, name := range stepNames {
		if v, err := number(row[name]); err == nil && v == math.Trunc(v) && v >= 0 && v <= 1<<53 {
			step = int(v)
			break
		}
	}
	t.numbers(step, "", row)
}

// numbers adds the numbers of a row, and those of the objects in it.
func (t *table) numbers(step int, prefix string, row map[string]json.RawMessage) {
	for name, raw := range row {
		switch {
		case len(raw) == 0 || slices.Contains(stepNames, name):
		case raw[0] == '{' && prefix == "":
			var inner map[string]json.RawMessage
			if strictjson.Unmarshal(raw, &inner) == nil {
				t.numbers(step, name+"/", inner)
			}
		case raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9':
			if v, err := number(raw); err == nil {
				t.add(step, strings.TrimPrefix(prefix, "data/")+name, v) // verl's FileLogger has all of them in data
			}
		}
	}
}
