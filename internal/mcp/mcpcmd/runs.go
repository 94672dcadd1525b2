package mcpcmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
)

// shown is the result of show_run.
type shown struct {
	Run        string         `json:"run"`
	Finished   bool           `json:"finished"`
	Iterations int            `json:"iterations"`
	Alarms     int            `json:"red_flags"`
	Summary    *run.Summary   `json:"summary,omitempty"`
	Last       *run.Iteration `json:"last_iteration,omitempty"` // of a run that is not finished
	Manifest   *run.Manifest  `json:"manifest"`
}

func (o *options) showRun(_ context.Context, a arguments) (string, error) {
	dir, err := o.directory(a.Run)
	if err != nil {
		return "", err
	}
	s := shown{Run: a.Run}
	if s.Manifest, err = run.ReadManifest(dir); err != nil {
		return "", err
	}
	all, err := run.ReadMetrics(dir)
	if err != nil && !errors.Is(err, fault.Of("", fault.Missing)) {
		return "", err
	}
	for _, i := range all {
		s.Iterations = max(s.Iterations, i.Iteration)
		s.Alarms += len(i.Alarms)
	}
	s.Summary, err = run.ReadSummary(dir)
	if s.Finished = err == nil; !s.Finished {
		s.Summary = nil
		if len(all) > 0 {
			s.Last = &all[len(all)-1]
		}
	}
	return printed(s)
}

// iterations returns what a run measured, by its path below the root.
func (o *options) iterations(name string) ([]run.Iteration, error) {
	dir, err := o.directory(name)
	if err != nil {
		return nil, err
	}
	return run.ReadMetrics(dir)
}

func (o *options) metrics(_ context.Context, a arguments) (string, error) {
	all, err := o.iterations(a.Run)
	if err != nil {
		return "", err
	}
	chosen := []run.Iteration{}
	for _, i := range all {
		if (a.From == nil || i.Iteration >= *a.From) && (a.Limit == nil || len(chosen) < *a.Limit) {
			chosen = append(chosen, i)
		}
	}
	return printed(chosen)
}

func (o *options) redFlags(_ context.Context, a arguments) (string, error) {
	all, err := o.iterations(a.Run)
	if err != nil {
		return "", err
	}
	flags := []run.Alarm{}
	for _, i := range all {
		flags = append(flags, i.Alarms...)
	}
	return printed(flags)
}

// printed returns v as console.Host prints it.
func printed(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.String(), err
}
