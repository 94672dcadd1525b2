package jsonl

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/jsonspan"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/data/row"
)

// Fields of a task, in addition to messages.
const (
	nameID       = "id"
	nameTruth    = "ground_truth"
	nameMetadata = "metadata"
	nameOwn      = "own_columns"
)

// structuredTask is the counterpart of structured for tasks.
var structuredTask = map[string]bool{nameMessages: true, nameMetadata: true}

// TaskColumns converts a map in settings, from field to column, to columns for tasks, as
// ParseColumns does for trajectories; a prompt needs no completion here. Problems name
// the key of the setting.
func TaskColumns(from map[string]string) ([]Column, error) {
	var columns []Column
	var problems fault.Problems
	for _, name := range slices.Sorted(maps.Keys(from)) {
		key := nameMap + "." + name
		problems.Check(name != "" && from[name] != "", key, from[name], "set it to the name of a column")
		problems.Check(name != nameCompletion, key, from[name], "remove it; a task has no completion because the policy generates it")
		columns = append(columns, Column{name, from[name]})
	}
	problems.Check(from[nameMessages] == "" || from[namePrompt] == "", nameMap, nameMessages, "map either messages or prompt")
	if problems != nil {
		return nil, errors.Join(problems...)
	}
	return columns, nil
}

// MapTasks makes the reader read tasks, with fields from other columns.
func (r *Reader) MapTasks(columns []Column) { r.columns, r.tasks = columns, true }

// NextTask reads the next usable task, or returns io.EOF. It adds unusable rows before it
// to bad. Columns without a field in a task go to its metadata. Call MapTasks
// first.
func (r *Reader) NextTask(bad *Bad) (*rl.Task, Line, error) {
	bad.Unit = r.Unit()
	if err := r.fitting(); err != nil {
		return nil, Line{}, err
	}
	for {
		l, err := r.Line()
		if err != nil {
			return nil, l, err
		}
		text, err := r.Row(l)
		if err == nil {
			var t *rl.Task
			if t, err = decodeTask(text); err == nil {
				return t, l, nil
			}
		}
		bad.AddLine(l, err)
	}
}

// decodeTask decodes a task from the columns of a row, a JSON object.
func decodeTask(text []byte) (*rl.Task, error) {
	columns := map[string]json.RawMessage{}
	for _, m := range jsonspan.Members(nil, text) {
		columns[string(jsonspan.Text(text[m.KeyStart:m.KeyEnd]))] = bytes.Clone(text[m.ValueStart:m.End])
	}
	if prompt := columns[namePrompt]; none(columns[nameMessages]) && !none(prompt) {
		talk, err := row.Talk(prompt, nil)
		if err != nil {
			return nil, err
		}
		asked := slices.Concat([]byte{'{'}, talk, []byte{'}'})
		columns[nameMessages] = lookup(asked, jsonspan.Members(nil, asked), nameMessages)
		delete(columns, namePrompt)
	}
	if none(columns[nameMessages]) {
		return nil, promptless(slices.Sorted(maps.Keys(columns))).Err
	}
	t := &rl.Task{GroundTruth: columns[nameTruth], Metadata: map[string]json.RawMessage{}}
	if t.ID = string(unquoted(columns[nameID])); t.ID == "null" {
		t.ID = ""
	}
	if own := columns[nameMetadata]; !none(own) && strictjson.Unmarshal(own, &t.Metadata) != nil {
		return nil, invalid("map another column, or write an object", "metadata is not an object")
	}
	asked, err := rl.DecodeTask(slices.Concat([]byte(`{"messages":`), columns[nameMessages], []byte{'}'}))
	if err != nil {
		return nil, invalid(`write messages as [{"role": …, "content": …}, …]`, "%v", err)
	}
	t.Messages = asked.Messages
	columns = others(columns)
	for name, value := range columns {
		if old, twice := t.Metadata[name]; twice && !sameJSON(old, value) {
			return nil, invalid("omit one of them", "%s is given twice, as a column and in metadata, with different values", name)
		}
		t.Metadata[name] = value
	}
	return t, asks(t.Messages)
}

// others returns the columns that go to the metadata of a task: those without a field,
// and those that a map renamed. How a row spelled its prompt matters only for
// trajectories.
func others(columns map[string]json.RawMessage) map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	if own := columns["own_columns"]; isObject(own) {
		for _, m := range jsonspan.Members(nil, own) {
			all[string(jsonspan.Text(own[m.KeyStart:m.KeyEnd]))] = bytes.Clone(own[m.ValueStart:m.End])
		}
	}
	maps.Copy(all, columns)
	for _, name := range []string{nameMessages, nameTruth, nameID, nameMetadata, "own_columns", "prompt_messages", "given_as_text"} {
		delete(all, name)
	}
	return all
}

// asks returns an error if the messages do not ask anything.
func asks(messages []rl.Message) error {
	switch n := len(messages); {
	case n == 0:
		return invalid("omit the row, or map another column", "the prompt is empty")
	case messages[n-1].Role == rl.RoleAssistant:
		return invalid("map prompt or messages to a column without the answer", "the last message is from the assistant, so nothing is left to answer")
	case n == 1 && strings.TrimSpace(messages[0].Content.Text()) == "" && messages[0].Content.Parts() == nil:
		return invalid("omit the row, or map another column", "the prompt is empty")
	}
	return nil
}
