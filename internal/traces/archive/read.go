// Package archive reads and writes traces as files: JSON lines with a trace, a span
// or a trajectory each, and a folder tree with one file per trace and an index.
package archive

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/absent"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// Read calls f for each line of the file, or each file of the tree, at path, with
// the spans and what is known about their traces. A line is a trace, a span or a
// trajectory; rows of a table and documents of other tools are trajectories. Read adds invalid records to bad and
// continues; it stops at an error. Trajectories without times get the modification
// time of the file.
func Read(path string, bad *Bad, f func(spans []trace.Span, about []trace.About) error) error {
	info, err := os.Stat(path)
	if err != nil {
		where, reason := absent.Reason(err)
		return &fault.Error{Boundary: fault.Data, Kind: fault.Missing, Where: where, Err: reason, Hint: absent.Hint(path)}
	}
	if _, err := os.Stat(filepath.Join(path, filepath.FromSlash(IndexFile))); err == nil {
		return readTree(path, bad, f)
	}
	in, err := jsonl.Open(path, nil)
	if err != nil && info.IsDir() {
		return readTree(path, bad, f)
	} else if err != nil {
		return err
	}
	defer in.Close()
	at := info.ModTime().UTC().Truncate(time.Microsecond)
	for n := 0; ; n++ {
		line, err := in.Line()
		if errors.Is(err, io.EOF) {
			bad.Notes = in.Notes()
			return nil
		}
		if err != nil {
			return err
		}
		spans, about, err := decode(in, line, at)
		if err != nil {
			bad.Add(in.At(line.Number), err)
			continue
		}
		if err := f(spans, about); err != nil {
			return err
		}
	}
}

// decode decodes a line by the fields that it has.
func decode(in *jsonl.Reader, line jsonl.Line, at time.Time) ([]trace.Span, []trace.About, error) {
	var names struct {
		Spans    json.RawMessage `json:"spans"`
		Messages json.RawMessage `json:"messages"`
		Kind     json.RawMessage `json:"kind"`
	}
	if err := strictjson.Unmarshal(line.Text, &names); err != nil {
		return nil, nil, fmt.Errorf("not a JSON object: %w", err)
	}
	var t *trace.Trace
	switch {
	case names.Messages != nil: // first: a trajectory may have a column spans
		told, err := in.Trajectory(line)
		if err != nil {
			return nil, nil, err
		}
		if t, err = Trace(told, at); err != nil {
			return nil, nil, err
		}
	case names.Spans != nil:
		var err error
		if t, err = trace.Decode(line.Text); err != nil {
			return nil, nil, err
		}
	case names.Kind != nil:
		s, err := trace.DecodeSpan(line.Text)
		if err != nil {
			return nil, nil, err
		}
		return []trace.Span{*s}, nil, nil
	default:
		return nil, nil, errors.New(`neither a trace ("spans"), a span ("kind") nor a trajectory ("messages")`)
	}
	return t.All, []trace.About{t.About()}, nil
}

func readTree(folder string, bad *Bad, f func([]trace.Span, []trace.About) error) error {
	index, err := ReadIndex(folder)
	if err != nil {
		return err
	}
	for _, e := range index.Traces {
		at := filepath.Join(folder, filepath.FromSlash(e.Path))
		if !local(e.Path) {
			bad.Add(e.Path, errors.New("the path leads outside the tree"))
			continue
		}
		text, err := readFile(at)
		if err != nil {
			bad.Add(e.Path, err)
			continue
		}
		t, err := trace.Decode(text)
		if err == nil && t.ID != e.ID {
			err = fmt.Errorf("contains trace %q, but the index lists %q", t.ID, e.ID)
		}
		if err != nil {
			bad.Add(e.Path, err)
			continue
		}
		if err := f(t.All, []trace.About{t.About()}); err != nil {
			return err
		}
	}
	return nil
}

// longest is the maximum number of bytes of a file in a tree.
const longest = 512 << 20

// readFile reads a file of a tree.
func readFile(at string) ([]byte, error) {
	file, err := os.Open(at)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, longest+1))
	if err == nil && len(text) > longest {
		err = fmt.Errorf("is longer than %d MiB", longest>>20)
	}
	return text, err
}
