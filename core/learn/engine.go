package learn

import (
	"errors"
	"math"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/learn/internal/gradient"
	"github.com/merit-rl/merit/core/learn/internal/loss"
	"github.com/merit-rl/merit/core/learn/internal/product"
	"github.com/merit-rl/merit/core/learn/internal/workers"
	"github.com/merit-rl/merit/internal/base/cpus"
)

// maxPieceParams is the most parameters of a piece of the passes over all of them:
// below it, waking another core costs more than the pass.
const maxPieceParams = 1 << 15

// engine computes the gradient of one minibatch after another and moves the
// parameters. It splits the work into shards of rows and pieces of parameters. The
// minibatch and the network decide the split, not the number of CPUs, and sums are
// in the order of the shards. So the result is the same on any number of CPUs.
type engine struct {
	pool      workers.Pool
	policy    *Policy
	objective *loss.Objective
	shardRows int

	backend   gradient.Backend
	passes    []gradient.Differentiator // of the workers
	failed    []error                   // of the workers, at the minibatch
	rows      *loss.Rows                // of the minibatch, as all that follow
	found     *loss.Result
	outputs   gradient.Rows
	gradients [][]float32 // of the shards; their sum is in the first
	before    []float32   // the sum of the parts before, of a step in several
	squares   []float64   // of the pieces of the sum

	// What is computed now.
	batch *batch
	order []int
	share float64 // of a row in the mean
	more  bool    // before is part of the sum
	adam  product.Adam
	state *adam

	whole, ahead, back, sum, move func(worker, i int) // the jobs, made once
}

func newEngine(p *Policy, objective *loss.Objective, minibatch int, backend gradient.Backend) *engine {
	e := &engine{policy: p, objective: objective, shardRows: shardRows(minibatch), backend: backend}
	e.squares = make([]float64, (len(p.params)+maxPieceParams-1)/maxPieceParams)
	e.whole, e.ahead, e.back, e.sum, e.move = e.shard, e.forward, e.backward, e.add, e.step
	return e
}

// start makes the workers for an update of that many rows; stop must follow,
// unless it fails.
func (e *engine) start(rows int) error {
	n, actions := e.policy.net, e.policy.net.Actions
	if e.rows == nil || len(e.rows.Weight) < rows {
		e.rows, e.found = loss.NewRows(rows, n.Inputs, actions), loss.NewResult(rows)
		e.outputs = gradient.Rows{Logits: make([]float32, rows*actions), ByLogit: make([]float32, rows*actions)}
		if n.Critic != nil {
			e.outputs.Values, e.outputs.ByValue = make([]float32, rows), make([]float32, rows)
		}
	}
	shards := (rows + e.shardRows - 1) / e.shardRows
	for len(e.gradients) < shards {
		e.gradients = append(e.gradients, make([]float32, n.Params))
	}
	workers := min(cpus.Count(), max(shards, len(e.squares)))
	for len(e.passes) < workers {
		pass, err := e.backend.Pass(e.shardRows)
		if err != nil {
			return broken(err)
		}
		e.passes = append(e.passes, pass)
	}
	e.failed = make([]error, len(e.passes))
	e.pool.Start(workers)
	return nil
}

// broken is the error of a backend that failed.
func broken(err error) error {
	return &fault.Error{
		Boundary: fault.Learner, Kind: fault.Internal, What: "the backend cannot differentiate the network", Err: err,
		Hint: "this is a bug of Merit; please report it with the policy and learner sections of the configuration",
	}
}

// close frees the passes.
func (e *engine) close() error {
	var failed []error
	for _, p := range e.passes {
		failed = append(failed, p.Close())
	}
	e.passes = nil
	return errors.Join(failed...)
}

func (e *engine) stop() { e.pool.Stop() }

// gradient computes the gradient of the objective of the rows of b that order
// names, as their part of the mean over so many, and its norm. If more is set,
// both describe the sum with the previous call. The gradient is valid until the next
// call.
func (e *engine) gradient(b *batch, order []int, rows int, more bool) (gradient []float32, norm float64, err error) {
	e.batch, e.order, e.share, e.more = b, order, 1/float64(rows), more
	if more {
		if e.before == nil {
			e.before = make([]float32, len(e.gradients[0]))
		}
		e.before, e.gradients[0] = e.gradients[0], e.before
	}
	e.backend.Load()
	shards := e.shards()
	if e.objective.Couples() {
		e.pool.Run(shards, e.ahead)
		e.objective.Couple(e.rows, e.found, len(order))
		e.pool.Run(shards, e.back)
	} else {
		e.pool.Run(shards, e.whole)
	}
	if err := errors.Join(e.failed...); err != nil {
		return nil, 0, broken(err)
	}
	e.pool.Run(len(e.squares), e.sum)
	var square float64
	for _, s := range e.squares {
		square += s
	}
	return e.gradients[0], math.Sqrt(square), nil
}

func (e *engine) shards() int { return (len(e.order) + e.shardRows - 1) / e.shardRows }

// part returns shard i of the minibatch.
func (e *engine) part(i int) (r gradient.Rows, from, to int) {
	from, to = i*e.shardRows, min(len(e.order), (i+1)*e.shardRows)
	inputs, actions, o := e.policy.net.Inputs, e.policy.net.Actions, &e.outputs
	r = gradient.Rows{
		Count: to - from, Input: e.rows.Input[from*inputs : to*inputs],
		Logits: o.Logits[from*actions : to*actions], ByLogit: o.ByLogit[from*actions : to*actions],
	}
	if o.Values != nil {
		r.Values, r.ByValue = o.Values[from:to], o.ByValue[from:to]
	}
	return r, from, to
}

// shard is all of shard i, where rows do not depend on each other.
func (e *engine) shard(worker, i int) {
	e.forward(worker, i)
	e.derive(worker, i)
}

// forward is shard i up to the log-probabilities of its actions.
func (e *engine) forward(worker, i int) {
	r, from, to := e.part(i)
	e.batch.fill(e.rows, e.order, from, to, e.share)
	e.note(worker, e.passes[worker].Forward(r))
	e.objective.LogProbs(e.rows, e.outputs.Logits, e.found, from, to)
}

// backward is the rest of shard i once the minibatch is coupled. Another worker or
// shard may have used the pass since, so it repeats the forward pass.
func (e *engine) backward(worker, i int) {
	r, _, _ := e.part(i)
	e.note(worker, e.passes[worker].Forward(r))
	e.derive(worker, i)
}

func (e *engine) derive(worker, i int) {
	r, from, to := e.part(i)
	o := &e.outputs
	e.objective.Derive(e.rows, o.Logits, o.Values, e.found, o.ByLogit, o.ByValue, from, to)
	e.note(worker, e.passes[worker].Backward(r, e.gradients[i]))
}

// note keeps the first error of a worker.
func (e *engine) note(worker int, err error) {
	if err != nil && e.failed[worker] == nil {
		e.failed[worker] = err
	}
}

// piece returns what belongs to piece i of x, which has the layout of the
// parameters.
func piece(x []float32, i int) []float32 {
	return x[i*maxPieceParams : min(len(x), (i+1)*maxPieceParams)]
}

// add sums a piece of the shards' gradients, and of the part before.
func (e *engine) add(_, i int) {
	total := piece(e.gradients[0], i)
	for _, g := range e.gradients[1:e.shards()] {
		product.Add(total, piece(g, i))
	}
	if e.more {
		product.Add(total, piece(e.before, i))
	}
	e.squares[i] = product.SquaredNorm(total)
}

// descend makes one optimizer step with the last gradient, multiplied by scale.
func (e *engine) descend(a *adam, scale, rate float64) {
	a.steps++
	e.state = a
	e.adam = product.Adam{Beta1: a.beta1, Beta2: a.beta2, Epsilon: a.epsilon, Steps: a.steps, Rate: rate, Scale: scale}
	e.pool.Run(len(e.squares), e.move)
}

// step moves a piece of the parameters.
func (e *engine) step(_, i int) {
	e.adam.Step(piece(e.policy.params, i), piece(e.gradients[0], i), piece(e.state.first, i), piece(e.state.second, i))
}
