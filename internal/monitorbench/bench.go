package monitorbench

import (
	"context"
	"os"

	"golang.org/x/sync/errgroup"
)

// Plan is what to play and where the recordings are.
type Plan struct {
	Families []Family
	Seeds    int
	Cores    int
	Dir      string // of the recordings; empty keeps none
}

// Run is a run as numbers.
type Run struct {
	Family *Family
	Seed   uint64
	// Fall is the iteration at which the true metric has fallen, 0 if it has not.
	Fall     int
	Evidence [][]float64 // by flag, then by iteration from 1 on
	Alarms   []Alarm     // with the thresholds of a new configuration
}

// Alarm is a red flag that was raised.
type Alarm struct {
	Flag      string
	Iteration int
}

// Play plays all runs, or reads those that are recorded. The results depend on the families and the seeds
// only. Done receives the number of finished runs, one call at a time.
func (p Plan) Play(ctx context.Context, done func(n, of int)) ([]Run, error) {
	if p.Dir != "" {
		if err := os.MkdirAll(p.Dir, 0o755); err != nil {
			return nil, err
		}
	}
	runs := make([]Run, len(p.Families)*p.Seeds)
	finished := make(chan struct{}, len(runs))
	many, ctx := errgroup.WithContext(ctx)
	many.SetLimit(p.Cores + 1)
	many.Go(func() error {
		for n := range runs {
			select {
			case <-finished:
				done(n+1, len(runs))
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	for n := range runs { // the first seeds of all families come first: fewer seeds can then use the recordings
		family, seed := n%len(p.Families), n/len(p.Families)
		many.Go(func() (err error) {
			if err := ctx.Err(); err != nil {
				return err
			}
			runs[family*p.Seeds+seed], err = p.one(ctx, &p.Families[family], uint64(seed))
			finished <- struct{}{}
			return err
		})
	}
	return runs, many.Wait()
}

// one plays a run, or reads it, and looks at it.
func (p Plan) one(ctx context.Context, f *Family, seed uint64) (Run, error) {
	r, err := p.recording(ctx, f, seed)
	if err != nil {
		return Run{}, err
	}
	return Run{Family: f, Seed: seed, Fall: Fall(r.Truth), Evidence: Evidence(r.Lines), Alarms: alarms(r.Lines)}, nil
}

func (p Plan) recording(ctx context.Context, f *Family, seed uint64) (*Recording, error) {
	if p.Dir == "" {
		return f.Play(ctx, seed)
	}
	r, err := Read(p.Dir, f.Name, seed)
	if r != nil || err != nil {
		return r, err
	}
	if r, err = f.Play(ctx, seed); err != nil {
		return nil, err
	}
	return r, r.Write(p.Dir)
}
