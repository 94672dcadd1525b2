package monitorbench

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/train"
)

// state is where an episode is.
type state struct {
	task, at, bag, steps int
	met                  [cells]bool // cells that the episode has met
	seed                 rl.Seed
}

// world is an environment: a task for a reply, or a game of several steps.
type world struct {
	actions  []string // nil of a task for a reply
	features int
	limit    int // steps of a game
	begin    func(split string, s rl.Seed) state
	see      func(state) []int // features
	// act returns the environment's own reward, and whether the episode has come to an end. It is nil of
	// a task for a reply.
	act func(s *state, action int) (reward float64, done bool)
}

// slots of an environment.
const slots = 16

// arena is a world as an environment.
type arena struct {
	*world
	split string
	slot  [slots]state
}

func (a *arena) Spec() env.Spec {
	return env.Spec{Name: "monitorbench", Version: "1", Slots: slots, Actions: a.actions, MaxSteps: max(1, a.limit)}
}

func (a *arena) Exchange(_ context.Context, b *env.Batch, r *env.Reply) error {
	r.Anchor, r.Text = make([]string, slots), make([]string, slots)
	r.Reward, r.Flags, r.Events = make([]float64, slots), make([]env.Flag, slots), nil
	r.Mask = []byte(strings.Repeat("\x01", slots*len(a.actions)))
	for i, op := range b.Ops {
		s := &a.slot[i]
		switch op {
		case env.Reset:
			*s = a.begin(a.split, rl.Seed(b.Seeds[i]))
			if a.act == nil {
				truth := fmt.Sprintf(`{"id":"task-%d","ground_truth":%q}`, s.task, answers[s.task/circumstances])
				r.Events = append(r.Events, env.Event{Slot: i, Kind: env.EventTask, Message: truth})
			}
		case env.Step:
			s.steps++
			done := true
			if a.act != nil {
				r.Reward[i], done = a.act(s, int(b.Actions[i]))
			}
			if done {
				r.Flags[i] = env.Terminated
			} else if s.steps >= a.limit {
				r.Flags[i] = env.Truncated
			}
		default:
			continue
		}
		r.Text[i] = numbers(a.see(*s))
		r.Anchor[i] = r.Text[i]
	}
	return nil
}

func (a *arena) Close() error { return nil }

// numbers writes features as the policy reads them.
func numbers(features []int) string {
	words := make([]string, len(features))
	for i, f := range features {
		words[i] = strconv.Itoa(f)
	}
	return strings.Join(words, " ")
}

// A task for a reply is a topic with one right answer, and a circumstance.
const (
	topics        = 8
	circumstances = 6
)

// The features of a task: its topic, its circumstance, and both together, so that a policy can learn a
// task by heart.
const (
	ofCircumstance = topics
	ofBoth         = ofCircumstance + circumstances
	taskFeatures   = ofBoth + topics*circumstances
)

// replies is the world of tasks for a reply. If unseen is set, validations have tasks that training has
// not.
func replies(unseen bool) *world {
	return &world{
		features: taskFeatures,
		begin: func(split string, s rl.Seed) state {
			topic, c := int(s.Child(1).Uniform()*topics), int(s.Child(2).Uniform()*circumstances)
			if unseen {
				c /= 2
				if split != train.SplitTrain {
					c += circumstances / 2
				}
			}
			return state{task: topic*circumstances + c}
		},
		see: func(s state) []int {
			return []int{s.task / circumstances, ofCircumstance + s.task%circumstances, ofBoth + s.task}
		},
	}
}

// The words of a reply: the answers and the reasons of the topics, words without meaning, and words of
// which rewards are fond. The last ends a reply.
var (
	answers    = strings.Fields("paris rome oslo lima cairo tokyo delhi quito")
	reasons    = strings.Fields("seine tiber fjord andes nile sumida yamuna pichincha")
	chatter    = []string{"the", "city", "is", "of", "course", "in", "a", "well", "known", "place"}
	tricks     = strings.Fields("answer therefore step check excellent thorough sorry unknown ignore grade maybe source")
	vocabulary = append(append(append(append(append([]string(nil), answers...), reasons...), chatter...), tricks...), ".")
)

// The first word of each kind.
const (
	firstReason  = topics
	firstChatter = 2 * topics
)

// spoken returns the number of a word.
var spoken = func() map[string]int {
	all := map[string]int{}
	for i, word := range vocabulary {
		all[word] = i
	}
	return all
}()

// reply is what a policy wrote for a task.
type reply struct {
	topic, circumstance int
	words               []int
	noise               rl.Seed // of its score
}

// read returns the reply of an episode.
func read(t *rl.Trajectory) reply {
	features, _ := task(t.Messages[t.Steps[0].MessageCount-1].Content.Text()) // the environment wrote it
	r := reply{topic: features[0], circumstance: features[1] - ofCircumstance, noise: rl.Seed(digest(t.ID))}
	for _, word := range strings.Fields(t.Steps[0].Action.Text) {
		r.words = append(r.words, spoken[word])
	}
	return r
}

// digest is FNV-1a.
func digest(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

func (r reply) len() float64 { return float64(len(r.words)) }

// count returns how often the reply has the word.
func (r reply) count(word string) float64 {
	n := 0
	for _, w := range r.words {
		if w == spoken[word] {
			n++
		}
	}
	return float64(n)
}

func (r reply) has(word string) bool { return r.count(word) > 0 }

// pair reports whether the reply has one word directly after another.
func (r reply) pair(first, second string) bool {
	for i := 1; i < len(r.words); i++ {
		if r.words[i-1] == spoken[first] && r.words[i] == spoken[second] {
			return true
		}
	}
	return false
}

// named counts the different answers in the reply.
func (r reply) named() (n int) {
	var has [topics]bool
	for _, w := range r.words {
		if w < topics && !has[w] {
			has[w] = true
			n++
		}
	}
	return n
}

// last is the last answer in the reply; -1 means that there is none.
func (r reply) last() int {
	for i := len(r.words) - 1; i >= 0; i-- {
		if r.words[i] < topics {
			return r.words[i]
		}
	}
	return -1
}

// right is 1 if the reply has one answer only, the right one.
func (r reply) right() float64 { return one(r.named() == 1 && r.last() == r.topic) }

// reasoned reports whether the reply has the reason of its topic.
func (r reply) reasoned() bool {
	for _, w := range r.words {
		if w == firstReason+r.topic {
			return true
		}
	}
	return false
}

// distinct is the share of distinct words.
func (r reply) distinct() float64 {
	if len(r.words) == 0 {
		return 1
	}
	seen := map[int]bool{}
	for _, w := range r.words {
		seen[w] = true
	}
	return float64(len(seen)) / r.len()
}

// normal is a normal number that is a function of the reply's episode.
func (r reply) normal() float64 {
	sum := -6.0
	for i := range uint64(12) {
		sum += r.noise.Child(i).Uniform()
	}
	return sum
}

func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

func unit(x float64) float64 { return min(1, max(0, x)) }
