package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/attack"
	"github.com/merit-rl/merit/internal/attack/corpus"
	"github.com/merit-rl/merit/internal/base/cputime"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/internal/wire/bounds"
	"github.com/merit-rl/merit/sdk/merit"
)

// result is what an attack on one reward did.
type result struct {
	Name        string  `json:"name"`
	Budget      float64 `json:"budget_seconds"`
	Seed        uint64  `json:"seed"`
	Findings    []found `json:"findings"`
	Rounds      int     `json:"rounds"`
	Evaluations int     `json:"evaluations"`
	Seconds     float64 `json:"cpu_seconds"` // of the whole process, with the start of the reward
	Stopped     string  `json:"stopped"`
	Error       string  `json:"error,omitempty"`
}

// found is a finding.
type found struct {
	Kind     string   `json:"kind"`
	Doubt    string   `json:"doubt"`
	Task     string   `json:"task"`
	Reply    string   `json:"reply"`
	Score    float64  `json:"score"`
	Right    float64  `json:"right"`
	Place    string   `json:"place"`
	Evidence []string `json:"evidence"`
}

func (r result) String() string {
	return fmt.Sprintf("%-24s %d findings, %d rounds, %d evaluations, %.1f CPU seconds %s", r.Name, len(r.Findings), r.Rounds, r.Evaluations, r.Seconds, r.Error)
}

// attack attacks a reward in this process.
func (b *bench) attack(ctx context.Context, e corpus.Entry) result {
	r := result{Name: e.Name}
	if err := b.search(ctx, e, &r); err != nil {
		r.Error = err.Error()
	}
	return r
}

func (b *bench) search(ctx context.Context, e corpus.Entry, r *result) error {
	rows, err := rows(e.Rows())
	if err != nil {
		return err
	}
	cfg := merit.DefaultConfig().Sandbox
	cfg.Workers, cfg.StartWallClock, cfg.Cover = 1, time.Hour, true
	part := merit.Reward{Module: e.Reference(), Weight: 1}
	loaded, err := merit.LoadRewards(ctx, cfg, []merit.Reward{part}, merit.WithOutdated())
	if err != nil {
		return err
	}
	defer loaded.Close()
	source := e.Source()
	if !e.Script() {
		source = e.Reference()
	}
	text, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	findings := 0
	options := attack.Options{
		Seed: b.seed, Quiet: b.quiet,
		Tell: func(p attack.Progress) { findings = p.Findings },
		Over: func() bool {
			return cputime.Seconds() >= b.budget.Seconds() || e.Kind == corpus.Hackable && findings > 0
		},
	}
	done, err := attack.Run(ctx, attack.Subject{Pool: reward.NewPool(loaded.Parts, 1), Rows: rows, Source: text, Script: e.Script()}, options)
	if done == nil {
		return err
	}
	r.Rounds, r.Evaluations, r.Stopped = done.Rounds, done.Evaluations, done.Stopped
	for _, f := range done.Findings {
		r.Findings = append(r.Findings, found{
			Kind: f.Kind, Doubt: f.Doubt, Task: f.Task, Reply: bounds.Cut(f.Reply, 2000), Score: f.Score, Right: f.Right, Evidence: f.Evidence,
			Place: fmt.Sprintf("%s:%d", f.File, f.Line),
		})
	}
	return err
}

func rows(path string) (list []*rl.Trajectory, err error) {
	in, err := jsonl.Open(path, nil)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var bad jsonl.Bad
	for {
		row, err := in.NextGood(&bad)
		if errors.Is(err, io.EOF) {
			return list, bad.Err(path)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, row)
	}
}
