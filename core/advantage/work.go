package advantage

import "errors"

// ErrWork says that a batch's anchors are more work to compare than was allowed.
var ErrWork = errors.New("comparing the anchors by similarity would take more work than the limit allows")

// work counts the steps of comparing anchors, down from what is allowed. How
// many there are cannot be said before: a comparison of two texts takes between
// one step and the cube of their lengths, and honest texts are near the lower
// end. So they are counted while they are done, which gives one batch the same
// answer on every machine and at every load.
type work int64

// A step is to look at one place where a code point of one text stands in the
// other. What the rest of a comparison costs, in steps, as measured:
const (
	perPair  = 4   // two texts whose lengths alone tell them apart
	perPoint = 16  // a code point that is looked up
	perNew   = 384 // a code point that a text which begins a cluster has, once however often
)
