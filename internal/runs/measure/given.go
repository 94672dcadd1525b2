package measure

import (
	"cmp"
	"errors"
	"io"
	"slices"

	"github.com/merit-rl/merit/core/align"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/data/jsonl"
)

// Given returns the measurement of trajectories of another tool, by the scores that it stored.
// Trajectories of one group have the same start. What the file has and trajectories cannot
// hold is in notes.
func Given(path string) (e *run.Evaluation, notes []string, err error) {
	in, err := jsonl.Open(path, nil)
	if err != nil {
		return nil, nil, err
	}
	defer in.Close()
	m := train.Measurement{Align: align.DefaultConfig(), Train: train.DefaultConfig()}
	var starts []string
	model := ""
	for {
		t, err := in.NextTrajectory()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, nil, err
		}
		if t.StopReason == "" { // the format does not say it
			t.StopReason = rl.StopTerminated
		}
		m.Add(t)
		starts, model = append(starts, cmp.Or(t.Group, t.ID)), cmp.Or(model, modelOf(t))
	}
	e = &run.Evaluation{Player: run.Player{Policy: &run.Policy{Plugin: run.Plugin{Name: cmp.Or(model, "unknown model")}}}}
	e.Score, e.Episodes = m.Score()
	for i := range e.Episodes {
		e.Episodes[i].Start = starts[i]
	}
	slices.SortStableFunc(e.Episodes, func(a, b run.Played) int { return cmp.Compare(a.Start, b.Start) })
	return e, in.Notes(), nil
}

// modelOf returns the model that took the first step; empty if nothing says it.
func modelOf(t *rl.Trajectory) (name string) {
	if len(t.Steps) > 0 {
		_ = strictjson.Unmarshal(t.Steps[0].Info["name"], &name) // absent, or not a text
	}
	return name
}
