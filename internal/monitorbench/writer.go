package monitorbench

import (
	"bytes"
	"context"
	"encoding/gob"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
)

// writer is a policy that is small enough to train in a second: a softmax whose logits are sums of
// rows of a table. In an environment with named actions it chooses one; in any other it writes words,
// one after another, and each depends on the task, on the word before it and on its place.
type writer struct {
	words    []string // or the names of the actions
	number   map[string]int
	writes   bool
	features int
	most     int // words of a reply

	weights, first, second []float64 // the latter of Adam
	initial                []float64
	steps                  int
	rate, entropy          float64
	version                atomic.Uint64
}

// Places of words that the policy tells apart, and the bounds between them.
var places = []int{1, 3, 5, 8, 12, 18, 26}

const (
	epochs = 2
	clip   = 0.2
)

// newWriter returns a policy for so many features of tasks. The last of the words ends a reply.
func newWriter(words []string, features, most int, writes bool) *writer {
	w := &writer{words: words, number: map[string]int{}, writes: writes, features: features, most: most}
	for i, word := range words {
		w.number[word] = i
	}
	rows := features
	if writes {
		rows += len(words) + len(places) + 1 // the row of the last word is that of the beginning
	}
	w.weights = make([]float64, rows*len(words))
	return w
}

// ready makes the weights those of the untrained policy.
func (w *writer) ready(rate, entropy float64) *writer {
	w.rate, w.entropy, w.initial = rate, entropy, append([]float64(nil), w.weights...)
	w.first, w.second = make([]float64, len(w.weights)), make([]float64, len(w.weights))
	return w
}

func (w *writer) end() int { return len(w.words) - 1 }

// after is the row of what follows a word; that of the end is the beginning.
func (w *writer) after(word int) int { return w.features + word }

// place is the row of the nth word of a reply.
func (w *writer) place(n int) int {
	for i, bound := range places {
		if n < bound {
			return w.features + len(w.words) + i
		}
	}
	return w.features + len(w.words) + len(places)
}

// row returns the logits of a row.
func (w *writer) row(i int) []float64 { return w.weights[i*len(w.words) : (i+1)*len(w.words)] }

// rows appends the rows that a word depends on.
func (w *writer) rows(dst, task []int, before, n int) []int {
	dst = append(dst, task...)
	if w.writes {
		dst = append(dst, w.after(before), w.place(n))
	}
	return dst
}

// chances fills p with the probabilities of the next word, and returns their entropy.
func (w *writer) chances(p []float64, rows []int) (entropy float64) {
	clear(p)
	for _, r := range rows {
		for i, x := range w.row(r) {
			p[i] += x
		}
	}
	most := math.Inf(-1)
	for _, x := range p {
		most = max(most, x)
	}
	sum := 0.0
	for i, x := range p {
		p[i] = math.Exp(x - most)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
		if p[i] > 0 {
			entropy -= p[i] * math.Log(p[i])
		}
	}
	return entropy
}

// task reads the features of a task from its text, which are numbers.
func task(text string) (features []int, err error) {
	for _, word := range strings.Fields(text) {
		n, err := strconv.Atoi(word)
		if err != nil {
			return nil, err
		}
		features = append(features, n)
	}
	return features, nil
}

// Act implements policy.Policy.
func (w *writer) Act(_ context.Context, observations []policy.Observation, decisions []policy.Decision) error {
	p := make([]float64, len(w.words))
	var rows []int
	for i := range observations {
		o, d := &observations[i], &decisions[i]
		features, err := task(o.Text)
		if err != nil {
			return err
		}
		r := rand.New(rand.NewPCG(uint64(o.Seed), 1))
		var said []string
		before := w.end()
		for n := range w.length() {
			rows = w.rows(rows[:0], features, before, n)
			d.Entropy += w.chances(p, rows)
			word := draw(p, r.Float64(), o.Greedy)
			d.LogProb += math.Log(p[word])
			before = word
			if w.writes && word == w.end() {
				break
			}
			said = append(said, w.words[word])
		}
		d.Entropy /= float64(len(said) + 1)
		if d.Action = (rl.Action{Kind: rl.ActionText, Text: strings.Join(said, " ")}); !w.writes {
			d.Action.Kind, d.Action.Choice = rl.ActionChoice, before
		}
	}
	return nil
}

// length is the most words of a decision.
func (w *writer) length() int {
	if w.writes {
		return w.most
	}
	return 1
}

func draw(p []float64, x float64, greedy bool) int {
	best := 0
	for i, q := range p {
		if x -= q; x < 0 && !greedy {
			return i
		}
		if q > p[best] {
			best = i
		}
	}
	return best
}

// Version implements policy.Policy.
func (w *writer) Version() uint64 { return w.version.Load() }

// Spec implements policy.Learner.
func (w *writer) Spec() policy.Spec { return policy.Spec{Name: "writer", Learns: true} }

// token is a word that the policy learns from.
type token struct {
	rows      []int
	word      int
	advantage float64
	before    float64 // log-probability before the update
}

// tokens returns what a batch teaches, with advantages of a root mean square of 1.
func (w *writer) tokens(e *policy.Experience) (all []token, err error) {
	square := 0.0
	for i, t := range e.Trajectories {
		for k := range t.Steps {
			row := e.First[i] + k
			if e.Weight[row] == 0 {
				continue
			}
			seen := t.Observation(k)
			features, err := task(seen[len(seen)-1].Content.Text())
			if err != nil {
				return nil, fmt.Errorf("%s, step %d: %w", t.ID, k, err)
			}
			for n, word := range w.said(&t.Steps[k]) {
				before := w.end()
				if n > 0 {
					before = all[len(all)-1].word
				}
				all = append(all, token{w.rows(nil, features, before, n), word, e.Advantage[row], 0})
				square += e.Advantage[row] * e.Advantage[row]
			}
		}
	}
	if square > 0 {
		scale := math.Sqrt(float64(len(all)) / square)
		for i := range all {
			all[i].advantage *= scale
		}
	}
	return all, nil
}

// said returns the words of a step, with the end if the policy chose it.
func (w *writer) said(s *rl.Step) (words []int) {
	if !w.writes {
		return []int{s.Action.Choice}
	}
	for _, word := range strings.Fields(s.Action.Text) {
		words = append(words, w.number[word])
	}
	if len(words) < w.most {
		words = append(words, w.end())
	}
	return words
}

// Learn implements policy.Learner: PPO with Adam, the whole batch at once.
func (w *writer) Learn(_ context.Context, e *policy.Experience, _ rl.Seed) (policy.Stats, error) {
	all, err := w.tokens(e)
	if err != nil || len(all) == 0 {
		return policy.Stats{}, err
	}
	p := make([]float64, len(w.words))
	s := policy.Stats{LearningRate: w.rate, Minibatches: epochs}
	if e.Caution.Rate > 0 {
		s.LearningRate *= e.Caution.Rate
	}
	n := float64(len(all))
	for i := range all {
		s.Entropy += w.chances(p, all[i].rows) / n
		all[i].before = math.Log(p[all[i].word])
	}
	gradient := make([]float64, len(w.weights))
	for range epochs {
		clear(gradient)
		for i := range all {
			w.derive(gradient, p, &all[i], n, &s)
		}
		s.GradNorm += norm(gradient) / epochs
		w.descend(gradient, s.LearningRate)
	}
	for i := range all {
		w.chances(p, all[i].rows)
		ratio := math.Log(p[all[i].word]) - all[i].before
		s.KL += (math.Exp(ratio) - 1 - ratio) / n
	}
	w.version.Add(1)
	return s, nil
}

// derive adds the gradient of the loss of one token.
func (w *writer) derive(gradient, p []float64, t *token, n float64, s *policy.Stats) {
	entropy := w.chances(p, t.rows)
	ratio := math.Exp(math.Log(p[t.word]) - t.before)
	pull := t.advantage * ratio
	if t.advantage > 0 && ratio > 1+clip || t.advantage < 0 && ratio < 1-clip {
		pull, s.ClipFraction = 0, s.ClipFraction+1/(n*epochs)
	}
	s.Loss -= t.advantage * ratio / (n * epochs)
	width := len(w.words)
	for i, q := range p {
		g := pull * q
		if i == t.word {
			g -= pull
		}
		if q > 0 {
			g += w.entropy * q * (math.Log(q) + entropy)
		}
		for _, r := range t.rows {
			gradient[r*width+i] += g / n
		}
	}
}

func norm(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	return math.Sqrt(sum)
}

// descend makes a step of Adam. Decay draws the weights to those of the untrained policy, as the KL term
// of a trainer does.
func (w *writer) descend(gradient []float64, rate float64) {
	const beta1, beta2, epsilon, decay = 0.9, 0.99, 1e-6, 0.1
	w.steps++
	one, two := 1-math.Pow(beta1, float64(w.steps)), 1-math.Pow(beta2, float64(w.steps))
	for i, g := range gradient {
		w.first[i] = beta1*w.first[i] + (1-beta1)*g
		w.second[i] = beta2*w.second[i] + (1-beta2)*g*g
		w.weights[i] -= rate * ((w.first[i]/one)/(math.Sqrt(w.second[i]/two)+epsilon) + decay*(w.weights[i]-w.initial[i]))
	}
}

// Publish implements policy.Learner.
func (w *writer) Publish(context.Context) error { return nil }

// written is the state of a writer.
type written struct {
	Weights, First, Second []float64
	Steps                  int
	Version                uint64
}

// Save implements policy.Learner.
func (w *writer) Save(context.Context, string) ([]byte, error) {
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(written{w.weights, w.first, w.second, w.steps, w.Version()})
	return b.Bytes(), err
}

// Load implements policy.Learner.
func (w *writer) Load(_ context.Context, state []byte) error {
	s := written{Weights: w.initial, First: make([]float64, len(w.initial)), Second: make([]float64, len(w.initial))}
	if state != nil {
		s = written{}
		if err := gob.NewDecoder(bytes.NewReader(state)).Decode(&s); err != nil {
			return err
		}
	}
	copy(w.weights, s.Weights)
	copy(w.first, s.First)
	copy(w.second, s.Second)
	w.steps = s.Steps
	w.version.Store(s.Version)
	return nil
}

// Close implements policy.Learner.
func (w *writer) Close() error { return nil }
