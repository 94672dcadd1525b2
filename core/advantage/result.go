package advantage

// Result holds what [Estimate] found, one value per row, and the buffers that
// it reuses. The zero value is ready; a Result serves one Estimate at a time.
type Result struct {
	Return      []float64 // discounted return to go G, less the invalid-action penalty
	Episode     []float64 // A_E, 0 for estimators without one
	Step        []float64 // A_S, 0 for estimators without one
	Advantage   []float64 // A: what the learner multiplies
	Weight      []float64 // of the row in the loss: 0 if it has no score, else 1 (flow_grpo: see there)
	AnchorGroup []int32   // cluster, numbered over the batch by first appearance; −1 without score or anchors
	Value       []float64 // what the row's state is worth, for estimators that say so (g2po, gagpo); else empty
	Next        []float64 // what the step leads to: q of graphgpo, V′ of g2po; else empty
	Distance    []int32   // steps to a success after the step, for graphgpo; else empty
	Score       []float64 // the episode score of the row, backed up from branches, less the invalid-action penalty; 0 without one
	Owner       []int32   // the row that owns the row: another one if it is a copy in a branch; empty in a batch without branches
	Stats       Stats
	Moments     Moments // of the returns, if the estimator whitens

	scratch scratch
}

// scratch is what an estimator needs in addition to the result, kept between
// batches.
type scratch struct {
	order    order
	member   []int32   // group, or −1 if the row's trajectory has no score
	score    []float64 // Result.Score
	work     [4][]float64
	level    [2][]int32
	moments  []moment
	clusters clusters
	branches branches
	contexts memo[[2]int32]
	graph    graph
	best     []leader
	flags    []bool
	roles    map[role]int32
}

func (d *Result) resize(n int) {
	d.Return = resized(d.Return, n)
	d.Episode = zeroed(d.Episode, n)
	d.Step = zeroed(d.Step, n)
	d.Advantage = zeroed(d.Advantage, n)
	d.Weight = resized(d.Weight, n)
	d.AnchorGroup = resized(d.AnchorGroup, n)
	d.Value, d.Next, d.Distance = d.Value[:0], d.Next[:0], d.Distance[:0]
	d.Moments = Moments{}
	s := &d.scratch
	s.member = resized(s.member, n)
	s.score = resized(s.score, n)
	d.Score, d.Owner = s.score, nil
	for i := range s.work {
		s.work[i] = resized(s.work[i], n)
	}
	for i := range s.level {
		s.level[i] = resized(s.level[i], n)
	}
}

// resized returns a slice of n elements of any content, s itself if it has room.
func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// zeroed returns a slice of n zero elements, s itself if it has room.
func zeroed[T any](s []T, n int) []T {
	s = resized(s, n)
	clear(s)
	return s
}
