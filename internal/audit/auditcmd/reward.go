package auditcmd

import (
	"context"
	"os"
	"path/filepath"

	"github.com/merit-rl/merit/internal/audit"
	"github.com/merit-rl/merit/internal/audit/rewardaudit"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/internal/rewards/rewardcmd"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sdk/merit"
)

// reward audits a reward.
func (o *auditOptions) reward(ctx context.Context, target string, bounds *[2]float64) (*audit.Report, error) {
	named, err := rewardcmd.Name(target, o.With)
	if err != nil {
		return nil, err
	}
	named.Batch, named.Answers = o.Batch, o.Answers
	ref, err := named.Find()
	if err != nil {
		return nil, err
	}
	columns, err := jsonl.ParseColumns(o.Map)
	if err != nil {
		return nil, err
	}
	rows, own, err := rewardcmd.Rows(o.host, named.Path, o.Data, columns)
	if err != nil {
		return nil, err
	}
	info, results, err := rewardaudit.Run(ctx, rewardaudit.Subject{
		Load: func(ctx context.Context, isolation sandbox.Isolation) (*merit.Rewards, error) {
			cfg := o.Sandbox
			cfg.Isolation = isolation
			return rewardcmd.Load(ctx, o.host, cfg, named)
		},
		Rows: rows, Own: own, Range: bounds, Source: source(ref.Path),
	})
	if err != nil {
		return nil, err
	}
	return audit.New(target, info.Digest, audit.Reward, nil, results), nil
}

// source returns the text of a script; empty of a module.
func source(path string) string {
	if !sandbox.IsScript(path) {
		return ""
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		for _, name := range []string{"reward.py", "reward.js"} {
			if text, err := os.ReadFile(filepath.Join(path, name)); err == nil {
				return string(text)
			}
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(text)
}
