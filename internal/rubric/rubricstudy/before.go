package rubricstudy

import (
	"context"
	"errors"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/internal/rubric/rubrics"
	"github.com/merit-rl/merit/internal/rubric/study"
	"github.com/merit-rl/merit/sdk/merit"
)

// Before returns what merit.TrainOptions.Check should be for s by its
// configuration, which says how many episodes are played for it: Checked, or nil
// where no reward judges rubrics or nothing is to be checked.
func Before(s *merit.Session, tell func(*study.Report)) func(context.Context) (any, error) {
	episodes := 0
	for _, r := range s.Config.Rewards {
		if c := rubrics.Of(r); c != nil {
			episodes = max(episodes, c.Check)
		}
	}
	if _, err := Dual(s); err != nil || episodes == 0 || s.Config.Traced() {
		return nil
	}
	return Checked(s, episodes, tell)
}

// Checked returns a check of the rewards of s on the stakeholders of the
// validation split, of which tell, if it is not nil, hears: the final test's stay
// unseen. That a reward does not follow quality stops no run, and neither does
// that there is nothing to tell it by, because too few stakeholders come twice or
// there are no scores: Report.Sentence says so.
func Checked(s *merit.Session, episodes int, tell func(*study.Report)) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) {
		r, err := Check(ctx, s, Options{Split: train.SplitValidation, Episodes: episodes, Above: DefaultAbove})
		if errors.Is(err, fault.Of(fault.Data, fault.Missing)) || errors.Is(err, fault.Of("", fault.Unscored)) {
			r, err = &study.Report{Split: train.SplitValidation, Seed: s.Config.Seed, Episodes: episodes, Above: DefaultAbove, Sentence: "no check: " + fault.As(err).What}, nil
		}
		if err == nil && tell != nil {
			tell(r)
		}
		return r, err
	}
}
