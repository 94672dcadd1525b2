package policy

import (
	"fmt"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
)

// Experience is episodes with the credit of their steps. The columns have one
// row for each step; those of trajectory i are First[i] to First[i+1].
type Experience struct {
	Trajectories []*rl.Trajectory
	First        []int
	Advantage    []float64
	Weight       []float64 // of the row in the loss, ≥ 0; 0 = nothing is learned from the step
	Return       []float64 // discounted return to go, the target of a critic
	Caution      Caution

	// Imitate is true if others made the decisions, with unknown probabilities. The loss is
	// then the weighted mean of −advantage · log-probability, whatever else is configured.
	Imitate bool
}

// Caution slows a learner down: factors of its learning rate and of the width of
// its clip, above 0; 0 is 1. A learner without these settings ignores it.
type Caution struct{ Rate, Clip float64 }

// Sequence is a run of tokens to learn from, as one language model was given
// and sampled them. The columns have one row for each token.
type Sequence struct {
	Trajectory string // where it comes from, for errors
	Tokens     []int32
	Sampled    []byte    // 1 = sampled by the policy and learned from, 0 = given to it
	LogProb    []float32 // when it was sampled, nats; 0 where Sampled is
	Advantage  []float32 // of the step that the token belongs to; 0 where Sampled is
	Weight     []float32 // of the same; 0 where Sampled is
	Imitate    bool      // as Experience.Imitate: LogProb is 0
}

// Sequences turns the advantages of steps into those of their tokens. As long as
// the prompt of a step begins with all tokens of the step before, the steps of an
// episode are one sequence; where it does not (a template that rewrites the past,
// a shortened history) another one begins. Sequences from which nothing is learned
// are omitted.
//
// It is an error if a step with a weight was not sampled token by token, or if the
// lengths of its token columns do not match.
func (e *Experience) Sequences() ([]Sequence, error) {
	var all []Sequence
	for i, t := range e.Trajectories {
		b := builder{trajectory: t.ID, imitate: e.Imitate}
		for k := range t.Steps {
			row := e.First[i] + k
			if err := b.add(&t.Steps[k], e.Advantage[row], e.Weight[row]); err != nil {
				return nil, err
			}
		}
		b.end()
		all = append(all, b.done...)
	}
	return all, nil
}

// builder makes the sequences of one trajectory.
type builder struct {
	trajectory string
	imitate    bool
	current    Sequence
	learns     bool // current has a token to learn from
	done       []Sequence
}

func (b *builder) add(s *rl.Step, advantage, weight float64) error {
	if weight > 0 && (s.Prompt == nil || len(s.Tokens) == 0) {
		return b.misfit(s, "has no tokens", "use a policy that returns token ids and log-probabilities of prompt and answer")
	}
	if s.Prompt == nil {
		return nil
	}
	if s.Prompt.Keep < 0 || s.Prompt.Keep > len(b.current.Tokens) {
		return b.misfit(s, fmt.Sprintf("keeps %d tokens, but the sequence before it has %d", s.Prompt.Keep, len(b.current.Tokens)), "use the unchanged trajectories of a rollout")
	}
	if s.Prompt.Keep < len(b.current.Tokens) {
		kept := b.current.Tokens[:s.Prompt.Keep:s.Prompt.Keep]
		b.end()
		b.given(kept)
	}
	b.given(s.Prompt.Tokens)
	if len(b.current.Tokens) == 0 {
		return b.misfit(s, "was sampled from an empty prompt", "use prompts of at least one token")
	}
	b.sampled(s.Tokens, advantage, weight)
	return nil
}

func (b *builder) given(tokens []int32) {
	c := &b.current
	n := len(tokens)
	c.Tokens = append(c.Tokens, tokens...)
	c.Sampled = append(c.Sampled, make([]byte, n)...)
	c.LogProb = append(c.LogProb, make([]float32, n)...)
	c.Advantage = append(c.Advantage, make([]float32, n)...)
	c.Weight = append(c.Weight, make([]float32, n)...)
}

func (b *builder) sampled(tokens []rl.Token, advantage, weight float64) {
	from := len(b.current.Tokens)
	b.given(make([]int32, len(tokens)))
	c := &b.current
	for j, t := range tokens {
		c.Tokens[from+j] = t.ID
		if weight > 0 {
			c.Sampled[from+j] = 1
			c.Advantage[from+j], c.Weight[from+j] = float32(advantage), float32(weight)
			if !b.imitate {
				c.LogProb[from+j] = float32(t.LogProb)
			}
		}
	}
	b.learns = b.learns || weight > 0
}

// end stores the current sequence.
func (b *builder) end() {
	if b.learns {
		b.current.Trajectory, b.current.Imitate = b.trajectory, b.imitate
		b.done = append(b.done, b.current)
	}
	b.current, b.learns = Sequence{}, false
}

func (b *builder) misfit(s *rl.Step, what, hint string) error {
	return &fault.Error{
		Boundary: fault.Learner, Kind: fault.Invalid, Where: fmt.Sprintf("trajectory %s, step %d", b.trajectory, s.Index),
		What: "the step " + what, Hint: hint,
	}
}
