package advantage

import "errors"

// ErrWork says that a batch's anchors need more work to compare than the limit
// allows.
var ErrWork = errors.New("comparing the anchors by similarity would take more work than the limit allows")

// work counts the steps of comparing anchors, down from what is allowed. Their
// number is not known in advance: a comparison of two texts takes between one step
// and the cube of their lengths, and honest texts are near the lower end. Counting
// them as they happen gives the same result for a batch on every machine and at
// every load.
type work int64

// A step is the look-up of one position of a code point in the other text. The
// measured costs of the rest of a comparison, in steps:
const (
	perPair  = 4   // two texts whose lengths alone tell them apart
	perPoint = 16  // a code point that is looked up
	perNew   = 384 // a code point that a text which begins a cluster has, once however often
)
