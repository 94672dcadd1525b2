// Package bandit is a policy that learns in the simplest way: it prefers answers that
// had a higher advantage. Tests run it in process and behind a plug-in.
package bandit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/sdk/plugin"
)

// Options are the options of the policy.
type Options struct {
	Rate float64 `json:"rate"` // of learning
	Die  string  `json:"die"`  // a file that the third update creates, once, before it kills the process
}

// words are its answers where actions are free text.
var words = []string{"yes", "no", "perhaps"}

// firstByte is the token of byte 0 of a prompt; smaller tokens are answers.
const firstByte = 1 << 16

// Definition returns the plug-in.
func Definition() plugin.PolicyDefinition[Options] {
	return plugin.PolicyDefinition[Options]{
		Name: "bandit", Version: "1", Summary: "Prefers what went well.", Defaults: Options{Rate: 0.5},
		Check: func(_ plugin.PolicySetup, o Options) error {
			if o.Rate <= 0 {
				return plugin.Problem("rate", "must be positive", "0.5 learns quickly")
			}
			return nil
		},
		New: func(setup plugin.PolicySetup, o Options) (plugin.Policy, error) {
			b := &bandit{rate: o.Rate, die: o.Die, answers: setup.Actions, seed: setup.Seed}
			if b.imitates = len(b.answers) == 0; b.imitates {
				b.answers = words
			}
			return b, b.Load(context.Background(), nil)
		},
	}
}

// weights are logits of the answers.
type weights struct {
	Updates uint64    `json:"updates"`
	Logits  []float64 `json:"logits"`
}

type bandit struct {
	rate    float64
	die     string
	answers []string
	seed    plugin.Seed

	imitates bool // answers of others, because actions are free text

	newest weights
	acting weights
}

func (b *bandit) Spec() plugin.PolicySpec {
	return plugin.PolicySpec{Model: "bandit", Tokenizer: "bytes", Context: 4096, Imitates: b.imitates}
}

// Act samples an answer. Some texts make it misbehave.
func (b *bandit) Act(ctx context.Context, r *plugin.Request) (plugin.Decision, error) {
	switch r.Text {
	case "wait":
		<-ctx.Done()
		return plugin.Decision{}, ctx.Err()
	case "panic":
		panic("as asked")
	case "refuse":
		return plugin.Decision{}, errors.New("not this one")
	case "busy":
		return plugin.Decision{}, plugin.Retry(errors.New("come again"))
	case "full":
		return plugin.Decision{Stop: plugin.StopContext}, nil
	case "secret":
		return plugin.Decision{}, errors.New("no entry with " + os.Getenv("BANDIT_KEY"))
	case "die":
		fmt.Println("my key was", os.Getenv("BANDIT_KEY"))
		os.Exit(9)
	}
	if r.Answered {
		return b.answered(r)
	}
	p := b.probabilities(r)
	choice := sample(p, r.Seed.Uniform())
	if r.Greedy {
		choice = slices.Index(p, slices.Max(p))
	}
	d := plugin.Decision{Lag: b.newest.Updates - b.acting.Updates, LogProb: math.Log(p[choice]), Prompt: slices.Clone(r.Tokens)}
	for _, q := range p {
		if q > 0 {
			d.Entropy -= q * math.Log(q)
		}
	}
	d.Prompt = appendBytes(d.Prompt, r.Messages[r.Covered:])
	d.Tokens = []plugin.Token{{ID: int32(choice), LogProb: d.LogProb}}
	d.Info = map[string]json.RawMessage{"greedy": json.RawMessage(fmt.Sprint(r.Greedy))}
	if r.Actions == nil {
		d.Raw = b.answers[choice]
		return d, nil
	}
	d.Action = plugin.Choose(choice)
	return d, nil
}

// answered returns the tokens of an answer that another policy gave.
func (b *bandit) answered(r *plugin.Request) (plugin.Decision, error) {
	last := len(r.Messages) - 1
	said := r.Messages[last].Content.Text()
	choice := slices.Index(b.answers, said)
	if choice < 0 {
		return plugin.Decision{}, fmt.Errorf("%q is not a word of mine", said)
	}
	return plugin.Decision{Raw: said, Prompt: appendBytes(nil, r.Messages[:last]), Tokens: []plugin.Token{{ID: int32(choice)}}}, nil
}

func appendBytes(tokens []int32, messages []plugin.Message) []int32 {
	for _, m := range messages {
		for _, c := range []byte(m.Content.Text()) {
			tokens = append(tokens, firstByte+int32(c))
		}
	}
	return tokens
}

// probabilities returns the probabilities of the answers that r allows. The text
// changes them slightly.
func (b *bandit) probabilities(r *plugin.Request) []float64 {
	p, sum := make([]float64, len(b.answers)), 0.0
	for i := range p {
		if r.Mask == nil || r.Mask[i] == 1 {
			p[i] = math.Exp(b.acting.Logits[i] + float64(len(r.Text)*(i+1)%5)/10)
			sum += p[i]
		}
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

func sample(p []float64, u float64) int {
	last := 0
	for i, q := range p {
		if q > 0 {
			last = i
			if u -= q; u < 0 {
				break
			}
		}
	}
	return last
}

// Learn moves the logits of sampled answers by their advantages.
func (b *bandit) Learn(ctx context.Context, sequences []plugin.Sequence, seed plugin.Seed) (plugin.Stats, error) {
	next := weights{Updates: b.newest.Updates + 1, Logits: slices.Clone(b.newest.Logits)}
	stats := plugin.Stats{Sequences: len(sequences), LearningRate: b.rate, Minibatches: 1}
	for _, s := range sequences {
		for i, id := range s.Tokens {
			if s.Sampled[i] == 1 {
				next.Logits[id] += b.rate * float64(s.Advantage[i]*s.Weight[i]) * (1 + seed.Uniform()/100)
				stats.Tokens++
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return stats, err
	}
	if b.die != "" && next.Updates == 3 {
		if f, err := os.OpenFile(b.die, os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			f.Close()
			os.Exit(9)
		}
	}
	b.newest = next
	return stats, nil
}

func (b *bandit) Publish(context.Context) error {
	b.acting = b.newest
	return nil
}

func (b *bandit) Save(context.Context, string) ([]byte, error) { return json.Marshal(b.newest) }

func (b *bandit) Load(_ context.Context, state []byte) error {
	w := weights{Logits: make([]float64, len(b.answers))}
	for i := range w.Logits {
		w.Logits[i] = b.seed.Child(uint64(i)).Uniform()
	}
	if state != nil {
		if err := strictjson.Unmarshal(state, &w); err != nil || len(w.Logits) != len(b.answers) {
			return errors.New("no state of this bandit")
		}
	}
	b.newest, b.acting = w, w
	return nil
}
