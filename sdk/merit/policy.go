package merit

import (
	"context"
	"os"
	"path/filepath"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/learn"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
)

// policy makes the embedded network, untrained or as a checkpoint has it.
func (s *Session) policy(ctx context.Context, o RolloutOptions) (policy.Policy, error) {
	e, err := s.OpenEnv(ctx, o.Split, 0)
	if err != nil {
		return nil, err
	}
	spec := e.Spec()
	if err := e.Close(); err != nil {
		return nil, err
	}
	var p *learn.Policy
	if o.Checkpoint == "" {
		p, err = train.Untrained(s.Config.Settings(), spec)
	} else {
		p, err = s.trained(spec, o.Checkpoint)
	}
	switch {
	case err != nil:
		return nil, err
	case o.Greedy:
		return p.Greedy(), nil
	}
	return p, nil
}

func (s *Session) trained(spec env.Spec, path string) (*learn.Policy, error) {
	dir, name, err := SplitCheckpoint(path)
	if err != nil {
		return nil, err
	}
	checkpoint, err := run.ReadCheckpoint(dir, name)
	if err != nil {
		return nil, err
	}
	return train.Trained(s.Config.Settings(), spec, checkpoint)
}

// SplitCheckpoint returns the run directory and the checkpoint's name that path
// stands for: a run directory, of which the best is meant, or a file in the
// checkpoints folder of one.
func SplitCheckpoint(path string) (dir, name string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", "", &fault.Error{Boundary: fault.Data, Kind: fault.Missing, What: "cannot read", Err: err, Hint: "check the path"}
	}
	if info.IsDir() {
		return path, run.Best, nil
	}
	folder := filepath.Dir(path)
	if filepath.Base(folder) != run.Checkpoints {
		return "", "", &fault.Error{
			Boundary: fault.CLI, Kind: fault.Invalid, Where: path, What: "is not in the checkpoints folder of a run",
			Hint: "give the run directory, or RUN/" + run.Checkpoints + "/" + run.Last,
		}
	}
	return filepath.Dir(folder), filepath.Base(path), nil
}
