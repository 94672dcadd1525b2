package watch

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/data/jsonl"
)

// noScore is the outcome of an episode that has no score, for no reason that the file has.
const noScore = "no_score"

// read reads all files. After the first unusable row it only looks for others.
func (w *watcher) read(ctx context.Context, files []string) error {
	var problems []error
	numbers := steps(files)
	for i, file := range files {
		s := source{number: numbers[i], only: len(files) == 1, check: len(problems) > 0}
		err := w.open(ctx, file, &s)
		if bad := s.bad.Err(file); bad != nil {
			problems = append(problems, bad)
		}
		if err != nil {
			return errors.Join(append(problems, err)...)
		}
	}
	return errors.Join(problems...)
}

// source is a file that is read.
type source struct {
	*jsonl.Reader
	number int  // the training step of rows that say none
	only   bool // it is the only file
	check  bool // an earlier file has unusable rows, so this one is only checked
	bad    jsonl.Bad
}

// open reads a file.
func (w *watcher) open(ctx context.Context, file string, s *source) (err error) {
	if s.Reader, err = jsonl.Open(file, nil); err != nil {
		return err
	}
	defer s.Close()
	if w.o.Columns != nil {
		s.Map(w.o.Columns)
	}
	s.bad.Unit = s.Unit()
	if err = s.Fit(); err != nil {
		return err
	}
	for err == nil {
		if err = ctx.Err(); err == nil {
			err = w.row(s)
		}
	}
	w.report.NotRead = append(w.report.NotRead, s.Notes()...)
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// row reads the next row of s, or returns io.EOF.
func (w *watcher) row(s *source) error {
	l, err := s.Line()
	if err != nil {
		return err
	}
	t, err := s.Trajectory(l)
	if err == nil {
		err = w.prepare(t)
	}
	if err != nil {
		s.bad.AddLine(l, placed(err, s.At(l.Number)))
		return nil
	}
	step, err := w.stepOf(t, s)
	if err == nil && s.bad.Count == 0 && !s.check {
		err = w.add(t, step, s.Name())
	}
	return placed(err, s.At(l.Number))
}

// placed adds the place to an error that has none.
func placed(err error, at string) error {
	if f := fault.As(err); f != nil {
		f.Where = cmp.Or(f.Where, at)
	}
	return err
}

// prepare completes an episode.
func (w *watcher) prepare(t *rl.Trajectory) error {
	if err := w.score(t); err != nil {
		return err
	}
	for _, name := range w.wanted() {
		if err := w.measure(t, name); err != nil {
			return err
		}
	}
	answers(t)
	if t.Group == "" || t.Ungrouped {
		t.Group = prompted(t)
	}
	return nil
}

func invalid(hint, format string, args ...any) error {
	return &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, What: fmt.Sprintf(format, args...), Hint: hint}
}

// own is the id of an episode that a run of Merit played: its iteration, and its place there.
var own = regexp.MustCompile(`^train-([0-9]+)-`)

// stepOf returns the training step that a row says, or else that of its file.
func (w *watcher) stepOf(t *rl.Trajectory, s *source) (int, error) {
	column := cmp.Or(w.o.By, "step")
	raw, found := t.Column(column)
	if id := own.FindStringSubmatch(t.ID); id != nil && !found && w.o.By == "" {
		raw, found = json.RawMessage(id[1]), true
	}
	switch none := !found || string(raw) == "null"; {
	case none && w.o.By != "":
		return 0, invalid("name the column of the training step with --by", "the row has no column %s; it has %s", column, strings.Join(slices.Sorted(maps.Keys(t.Metadata)), ", "))
	case none && s.only:
		return 0, invalid("name the column of the training step with --by, or pass a file for each iteration", "the row has no column %s, which says in which iteration of training it was", column)
	case none:
		return s.number, nil
	}
	v, err := strconv.ParseFloat(string(bytes.Trim(raw, `"`)), 64)
	if err != nil || v != math.Trunc(v) || v < 0 || v > 1<<53 {
		return 0, invalid("name the column of the training step with --by", "column %s must be the number of a training step, not %.40s", column, raw)
	}
	return int(v), nil
}

// number returns a finite number, which may be in quotation marks, or 1 and 0 for true and false.
func number(raw []byte) (float64, error) {
	text := string(bytes.Trim(raw, `"`))
	switch text {
	case "true", "True":
		return 1, nil
	case "false", "False":
		return 0, nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
		err = strconv.ErrRange
	}
	return v, err
}

// score takes the score of t from a column, unless it has one.
func (w *watcher) score(t *rl.Trajectory) error {
	columns := []string{w.o.Score}
	if w.o.Score == "" {
		if t.Evaluation != nil && t.Evaluation.IsScoreValid {
			t.Outcome = cmp.Or(t.Outcome, string(reward.Scored))
		}
		if t.Outcome != "" {
			return nil
		}
		columns = []string{"score", "reward"}
	}
	t.Outcome = noScore
	for _, column := range columns {
		raw, found := t.Column(column)
		if !found || string(raw) == "null" {
			continue
		}
		v, err := number(raw)
		if err != nil {
			return invalid("name the column of the score with --score", "column %s must be a finite number, not %.40s", column, raw)
		}
		if t.Evaluation == nil {
			t.Evaluation = new(rl.EvaluateResult)
		}
		t.Evaluation.Score, t.Evaluation.IsScoreValid, t.Outcome = v, true, string(reward.Scored)
		return nil
	}
	return nil
}

// measure makes the metric or column name a metric that the monitor finds by its key.
func (w *watcher) measure(t *rl.Trajectory, name string) error {
	v, ok := t.Measured()[name]
	if ok && key(name) == name {
		w.found[name] = true
		return nil
	}
	if raw, found := t.Column(name); !ok && found && string(raw) != "null" {
		var err error
		if v, err = number(raw); err != nil {
			return invalid("watch a column of numbers, or of true and false", "column %s must be a finite number, not %.40s", name, raw)
		}
		ok = true
	}
	if !ok {
		return nil
	}
	if w.found[name] = true; t.Metrics == nil {
		t.Metrics = map[string]float64{}
	}
	t.Metrics[key(name)] = v
	return nil
}

// answers gives t a step for each answer, if it has none.
func answers(t *rl.Trajectory) {
	if len(t.Steps) > 0 {
		return
	}
	for i, at := range t.AssistantIndex(nil) {
		if m := &t.Messages[i]; at >= 0 {
			action := rl.Action{Kind: rl.ActionText, Text: m.Content.Text(), ToolCalls: m.ToolCalls}
			t.Steps = append(t.Steps, rl.Step{Index: len(t.Steps), MessageCount: i, Action: action, ActionValid: true})
		}
	}
}

// prompted names the group of the episodes with the prompt of t.
func prompted(t *rl.Trajectory) string {
	prompt, err := json.Marshal(t.Messages[:t.Given()])
	if err != nil || t.Given() == 0 {
		return t.ID
	}
	sum := sha256.Sum256(prompt)
	return hex.EncodeToString(sum[:8])
}
