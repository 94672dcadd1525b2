package credit

import (
	"errors"
	"fmt"
	"io"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/data/rowio"
)

// Work is how many steps a request may take to compare anchors by similarity.
// The dearest texts that were found take it in ten seconds on one core of a
// small machine with others at work; a group of two hundred unlike texts of 800
// characters takes a sixth of it.
const Work = 2_500_000_000

// bound is Work, but for tests.
var bound int64 = Work

// Lines is rowio.Estimate for a request: anchors are compared in at most Work
// steps.
func Lines(cfg advantage.Config, name string, in io.Reader, out io.Writer) (advantage.Stats, error) {
	stats, err := rowio.EstimateWithin(cfg, name, in, out, bound)
	if errors.Is(err, advantage.ErrWork) {
		err = tooMuch(name)
	}
	return stats, err
}

// tooMuch says that a request is more than Work.
func tooMuch(where string) error {
	return &fault.Error{
		Boundary: fault.Data, Kind: fault.Invalid, Where: where,
		What: fmt.Sprintf("comparing its anchors by similarity takes more than %d steps", bound),
		Hint: "send fewer rows or smaller groups in a request, shorten the anchors, omit similarity, or compute it on your own machine",
		Err:  advantage.ErrWork,
	}
}
