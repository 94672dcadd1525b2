// Package judgecheck measures on labeled data whether the judges of a configuration can be
// trusted.
package judgecheck

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/internal/judge"
	"github.com/merit-rl/merit/internal/judge/agreement"
	"github.com/merit-rl/merit/internal/judge/judging"
	"github.com/merit-rl/merit/sdk/merit"
)

// Options says what the judges are compared with.
type Options struct {
	// Data is a file of trajectories: one JSON object with messages per line. Trajectories of
	// one group, or of one task if they have no group, are judged together.
	Data string
	// Columns maps fields of trajectories to other columns of the data.
	Columns []jsonl.Column
	// Label is the column with a number for each trajectory, higher for better.
	Label string
	// Truth, if it is not nil, is the rewards whose score is the label, instead of a column.
	Truth *merit.Rewards

	Getenv func(string) string // looks up API keys; os.Getenv if nil
	Log    *slog.Logger        // nil discards messages
	// Progress, if it is not nil, is called with the number of trajectories judged so far;
	// those judged in both orders count twice.
	Progress func(done int)
	Stdin    io.Reader // os.Stdin if nil
	// NotRead, if it is not nil, is called with what the data of another tool says that was not read.
	NotRead func(notes []string)
}

// Result is the measurement of one judge.
type Result struct {
	Name  string      `json:"name"`
	Model string      `json:"model"`
	Mode  judge.Mode  `json:"mode"`
	Info  reward.Info `json:"judge"`
	agreement.Report
	Trajectories int            `json:"trajectories"`
	Outcomes     []reward.Count `json:"outcomes"`
	Totals       judge.Totals   `json:"totals"`
}

// Run measures every judge of cfg on the data, in both orders.
func Run(ctx context.Context, cfg *merit.Config, o Options) ([]Result, error) {
	var parts []merit.Reward
	var keys []string
	for i, r := range cfg.Rewards {
		for k, part := range r.Chain() {
			if part.Judge != nil {
				parts = append(parts, part)
				keys = append(keys, fmt.Sprintf("rewards[%d]%s.judge", i, strings.Repeat(".otherwise", k)))
			}
		}
	}
	if len(parts) == 0 {
		return nil, cfg.Places.Explain("", &fault.Error{
			Boundary: fault.Config, Kind: fault.Missing, Where: "rewards", What: "the configuration has no judge",
			Hint: "add one: rewards: [{judge: {server: {url: …, model: …}}}]",
		})
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	groups, err := labeled(ctx, o)
	if err != nil {
		return nil, err
	}
	var results []Result
	before := 0
	for k, part := range parts {
		r, err := check(ctx, part, groups, o, func(done int) {
			if o.Progress != nil {
				o.Progress(before + done)
			}
		})
		if err != nil {
			return nil, cfg.Places.Explain(keys[k], err)
		}
		results = append(results, r)
		for _, c := range r.Outcomes {
			before += c.N
		}
	}
	return results, nil
}

// check measures one judge.
func check(ctx context.Context, part merit.Reward, groups []agreement.Labeled, o Options, progress func(int)) (Result, error) {
	cfg := *judging.Of(part)
	r := Result{Name: part.Name, Model: cfg.Server.Model, Mode: cfg.Mode}
	for _, g := range groups {
		r.Trajectories += len(g.Trajectories)
	}
	forward, err := judging.Open(cfg, judging.Options{Getenv: o.Getenv, Log: o.Log})
	if err != nil {
		return r, err
	}
	defer forward.Close()
	orders := []*judging.Judge{forward}
	var reversed reward.Scorer
	if r.Mode == judge.Ruler {
		other, err := judging.Open(cfg, judging.Options{Getenv: o.Getenv, Log: o.Log, Reversed: true})
		if err != nil {
			return r, err
		}
		defer other.Close()
		orders, reversed = append(orders, other), other
	}
	judged, all, err := agreement.Ask(ctx, forward, reversed, groups, progress)
	if err != nil {
		return r, err
	}
	r.Info, r.Outcomes, r.Report = forward.Info(), reward.Tally(all), agreement.Measure(judged)
	if r.Name == "" {
		r.Name = r.Info.Name
	}
	for _, j := range orders {
		r.Totals.Add(j.Totals())
	}
	return r, allUnscored(all)
}

// allUnscored returns the error of a judge that gave no scores.
func allUnscored(all []reward.Evaluation) error {
	if slices.ContainsFunc(all, func(e reward.Evaluation) bool { return e.Outcome == reward.Scored }) {
		return nil
	}
	return &fault.Error{
		Boundary: fault.Model, Kind: fault.Unscored, What: fmt.Sprintf("the judge scored none of %d trajectories; the first: %s: %s", len(all), all[0].Outcome, all[0].Reason),
		Hint: "check that the server runs, serves the model, and enforces a JSON Schema",
	}
}

// labeled reads the data.
func labeled(ctx context.Context, o Options) ([]agreement.Labeled, error) {
	if o.Stdin == nil {
		o.Stdin = os.Stdin
	}
	in, err := jsonl.Open(o.Data, o.Stdin)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	in.Map(o.Columns)
	if err := in.Fit(); err != nil {
		return nil, err
	}
	d := data{options: o, index: map[string]int{}, bad: jsonl.Bad{Unit: in.Unit()}}
	for {
		line, err := in.Line()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		t, err := in.Trajectory(line)
		if err == nil {
			err = d.add(t)
		}
		if err != nil {
			d.bad.AddLine(line, err)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	if o.NotRead != nil {
		o.NotRead(in.Notes())
	}
	if err := d.bad.Err(in.Name()); err != nil {
		return nil, err
	}
	return d.groups, d.score(ctx)
}
