package rl

// Seed is a node in the tree of random seeds of a run. Every source of randomness
// is reached by a path of labels from the run's seed, for example (run, iteration,
// group, member, step): a value depends on its path only, never on arrival order
// or on what runs at the same time.
type Seed uint64

// Child returns the seed of the child with that label.
func (s Seed) Child(label uint64) Seed {
	return Seed(mix(uint64(s) ^ mix(label+0x9e3779b97f4a7c15)))
}

// Path returns the descendant reached by labels.
func (s Seed) Path(labels ...uint64) Seed {
	for _, l := range labels {
		s = s.Child(l)
	}
	return s
}

// Uniform returns a number in [0, 1) that is a function of s.
func (s Seed) Uniform() float64 {
	return float64(mix(uint64(s))>>11) * 0x1p-53
}

// mix is the finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}
