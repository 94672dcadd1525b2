package engine

import (
	"math"
	"sync"
	_ "unsafe" // for go:linkname
)

// callStackCeiling is how many calls wazero's interpreter nests, 2,000 unless it is told otherwise, and there is no other way to tell
// it. Compiled code has no such bound, so that the same reward would end in two ways: depth is what bounds both.
//
//go:linkname callStackCeiling github.com/tetratelabs/wazero/internal/engine/interpreter.callStackCeiling
var callStackCeiling int

// liftCeiling leaves nested calls to the depth that the meter counts.
var liftCeiling = sync.OnceFunc(func() { callStackCeiling = math.MaxInt })
