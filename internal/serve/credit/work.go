package credit

import (
	"errors"
	"fmt"
	"io"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/data/rowio"
)

// Work is how many steps a request may spend on comparing anchors by similarity. The most
// expensive texts that we found use it up in ten seconds on one core of a small, busy machine.
// A group of two hundred dissimilar texts of 800 characters takes a sixth of it.
const Work = 2_500_000_000

// bound is Work, except in tests.
var bound int64 = Work

// Lines does the same as rowio.Estimate, but spends at most Work steps on comparing anchors.
func Lines(cfg advantage.Config, name string, in io.Reader, out io.Writer) (advantage.Stats, error) {
	stats, err := rowio.EstimateWithin(cfg, name, in, out, bound)
	if errors.Is(err, advantage.ErrWork) {
		err = tooMuch(name)
	}
	return stats, err
}

// tooMuch returns the error of a request that needs more than Work.
func tooMuch(where string) error {
	return &fault.Error{
		Boundary: fault.Data, Kind: fault.Invalid, Where: where,
		What: fmt.Sprintf("comparing the anchors by similarity takes more than %d steps", bound),
		Hint: "send fewer rows or smaller groups in a request, shorten the anchors, omit similarity, or compute it on your own machine",
		Err:  advantage.ErrWork,
	}
}
