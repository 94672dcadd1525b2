package rollout

import "github.com/merit-rl/merit/core/rl"

// arena holds the numbers of one trajectory in few allocations. What it
// returns stays where it is for the life of the trajectory.
type arena struct {
	rows     int // rows of the next chunk
	features []float32
	mask     []byte
	values   []float64
	samples  []rl.Sampled
}

// keep appends a copy of x to chunk, or to a new chunk for rows such values if
// there is no room, and returns the copy.
func keep[T any](chunk *[]T, rows int, x ...T) []T {
	if len(x) == 0 {
		return nil
	}
	n := len(*chunk)
	if n+len(x) > cap(*chunk) {
		n, *chunk = 0, make([]T, 0, rows*len(x))
	}
	*chunk = append(*chunk, x...)
	return (*chunk)[n : n+len(x) : n+len(x)]
}

func (a *arena) observation(features []float32, mask []byte) ([]float32, []byte) {
	return keep(&a.features, a.rows, features...), keep(&a.mask, a.rows, mask...)
}

func (a *arena) value(v float64) *float64 { return &keep(&a.values, a.rows, v)[0] }

func (a *arena) sampled(s rl.Sampled) *rl.Sampled { return &keep(&a.samples, a.rows, s)[0] }
