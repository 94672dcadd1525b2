package run

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/merit-rl/merit/internal/base/strictjson"
)

// TracesFile lists the traces that a run learned from, one TraceLine per line.
const TracesFile = "traces.jsonl"

// Traces describes the traces that a run learns from instead of its own episodes.
// TracesFile lists them.
type Traces struct {
	Query  string         `json:"query"`
	Now    time.Time      `json:"now"`    // what the query's times are relative to
	Method string         `json:"method"` // how learning corrects for the policy that decided
	Digest string         `json:"digest"` // sha256:… of ids and digests
	Traces int            `json:"traces"`
	Tasks  map[string]int `json:"tasks"` // by split
	// SplitBy is what keeps tasks together in a split: content or task; empty in runs of
	// earlier versions, which went by the task.
	SplitBy string `json:"split_by,omitempty"`
	Joined  int    `json:"joined,omitempty"` // tasks in the split of another one with the same content

	Calls    int            `json:"calls"`              // answered
	Learnt   int            `json:"learnt"`             // of those, fit to learn from
	Skipped  map[string]int `json:"skipped,omitempty"`  // the others, by reason
	Unknown  int            `json:"unknown,omitempty"`  // learned from without a recorded log-probability
	Unscored int            `json:"unscored,omitempty"` // traces that were left out because they have no score

	// Played means that an environment measured the run, and not the held-out traces.
	Played bool `json:"played,omitempty"`

	Oldest  time.Time `json:"oldest"`   // start of the first trace
	Newest  time.Time `json:"newest"`   // … and of the last
	AgeDays float64   `json:"age_days"` // median, when the run began
}

// String describes in one or two sentences what the run learned from and how old
// it is.
func (t *Traces) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d traces of %d tasks (%d held out), from %s to %s, median age %.3g days; %d of %d calls are used for learning by %s",
		t.Traces, t.Tasks["train"]+t.Tasks["validation"]+t.Tasks["test"], t.Tasks["validation"]+t.Tasks["test"],
		t.Oldest.Format(time.DateOnly), t.Newest.Format(time.DateOnly), t.AgeDays, t.Learnt, t.Calls, t.Method)
	for i, why := range slices.Sorted(maps.Keys(t.Skipped)) {
		fmt.Fprintf(&b, "%s %d × %s", []string{"; left out:", ","}[min(i, 1)], t.Skipped[why], why)
	}
	if t.Unscored > 0 {
		fmt.Fprintf(&b, "; %d traces have no reward and are left out", t.Unscored)
	}
	if t.Joined > 0 {
		fmt.Fprintf(&b, "; %d tasks have the same input as another one, and are in its split", t.Joined)
	}
	return b.String() + "."
}

// digest gives what decides the run's bytes.
func (t *Traces) digest() string {
	if t == nil {
		return "episodes in an environment"
	}
	return fmt.Sprintf("%d traces %s", t.Traces, t.Digest)
}

// TraceLine is one trace that a run learns from, or holds out.
type TraceLine struct {
	Trace   string    `json:"trace"`
	Group   string    `json:"group"`
	Split   string    `json:"split"`
	Start   time.Time `json:"start"`
	Digest  string    `json:"digest"` // of the conversation, decisions and recorded reward
	Outcome string    `json:"outcome,omitempty"`
	Score   *float64  `json:"score,omitempty"` // as recorded
	Calls   int       `json:"calls"`
	Learnt  int       `json:"learnt"`
}

// Compare orders lines by group and trace.
func (l TraceLine) Compare(o TraceLine) int {
	return cmp.Or(cmp.Compare(l.Group, o.Group), cmp.Compare(l.Trace, o.Trace))
}

// WriteTraces writes traces.jsonl.
func (d *Dir) WriteTraces(lines []TraceLine) error {
	if err := d.begin(); err != nil {
		return err
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	for i := range lines {
		if err := enc.Encode(&lines[i]); err != nil {
			return storageError(d.file(TracesFile), "cannot be encoded", err)
		}
	}
	return writeFile(d.file(TracesFile), text.Bytes())
}

// ReadTraces reads the traces that the run in dir learned from.
func ReadTraces(dir string) ([]TraceLine, error) {
	path := filepath.Join(dir, TracesFile)
	data, err := readFile(path, maxMetrics)
	if err != nil {
		return nil, err
	}
	var all []TraceLine
	for line := range bytes.Lines(data) {
		var l TraceLine
		if err := strictjson.Unmarshal(line, &l); err != nil {
			return nil, corrupt(fmt.Sprintf("%s:%d", path, len(all)+1), "is not a trace", "restore the file, or start a new run", err)
		}
		all = append(all, l)
	}
	return all, nil
}
