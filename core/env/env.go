// Package env defines the interface of environments: a vector of slots that step
// together. Implementations are elsewhere: internal/host has one over gRPC, and
// tests have their own. The contract is checked by envcontract.Run, in tests by envtest.Run.
package env

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/merit-rl/merit/internal/base/sampling"
)

// Env is a vector of independent slots. It is not safe for concurrent use; a
// rollout gives each worker its own Env.
type Env interface {
	// Spec describes the environment as configured; it never changes.
	Spec() Spec
	// Exchange applies one operation to each slot and fills reply. It returns
	// when every slot has answered or ctx is done. After an error the state of
	// all slots is undefined: the next batch must reset each slot it uses.
	Exchange(ctx context.Context, batch *Batch, reply *Reply) error
	// Close shuts the environment down and frees its resources. It may be called
	// more than once.
	Close() error
}

// Renderer is an optional interface of an Env: it draws one slot as text for
// people.
type Renderer interface {
	Render(ctx context.Context, slot int) (string, error)
}

// Snapshotter is an optional interface of an Env whose Spec has Snapshots set: it
// saves the state of a slot and restores it, for search and branching.
type Snapshotter interface {
	// Snapshot returns the state of a slot within an episode, at most
	// MaxSnapshot bytes. It changes nothing.
	Snapshot(ctx context.Context, slot int) ([]byte, error)
	// Restore puts a slot into a state that Snapshot returned, in this environment
	// or another one with the same configuration. From then on it reacts to the
	// same actions as it did after the Snapshot. The next reply describes the
	// state; until then the slot has the mask from before the Snapshot.
	Restore(ctx context.Context, slot int, state []byte) error
}

// Encoder is an optional interface of an Env whose Spec has Encodes set: it reads calls
// of a language model that played the environment as text, so that a policy that reads
// features learns from them.
type Encoder interface {
	// Encode fills reply, which has one slot, with the Anchor, Features and Mask that the
	// environment's own policy would have seen at a recorded call, and returns the index of
	// the action in the answer, or −1 if the caller is to look for the name of an action in
	// it. messages are the texts of the call's input, the newest last. It changes no slot.
	//
	// If the call is not one of this environment's, the error is a *fault.Error of boundary
	// Data and kind Refused, whose What says why in a few words that many calls share.
	Encode(ctx context.Context, messages []string, answer string, reply *Reply) (action int, err error)
}

// MaxSnapshot is the most bytes that the state of a slot may have.
const MaxSnapshot = 1 << 20

// Spec describes an environment.
type Spec struct {
	Name    string
	Version string
	Slots   int // slots in every Batch
	// Actions names the discrete actions; empty if actions are free text.
	Actions []string
	// FeatureShape is the shape of the observation tensor, e.g. [channels
	// rows columns]; empty if the environment gives text only.
	FeatureShape []int
	// MaxSteps is the environment's own limit on an episode; 0 if none.
	MaxSteps int
	// System is the text that opens every conversation (rules, legend, how to
	// answer); empty if there is none.
	System string
	// Tools is what an action may call, as OpenAI's JSON list of tools; nil if
	// there is none.
	Tools json.RawMessage
	// Snapshots means that the environment is a Snapshotter.
	Snapshots bool
	// Encodes means that the environment is an Encoder.
	Encodes bool
	// Tasks is the number of tasks of the split, if it is a fixed list: seeds that are
	// equal modulo Tasks start the same task. 0 means that every seed is another task.
	Tasks int
	// Mixture lists the environments of which this one is made; nil for others.
	Mixture []sampling.Source
}

// Sources returns the environments of a mixture, or s itself.
func (s Spec) Sources() []sampling.Source {
	if s.Mixture != nil {
		return s.Mixture
	}
	return []sampling.Source{{Name: s.Name, Weight: 1, Tasks: s.Tasks}}
}

// Features returns the number of values in the observation tensor of a slot.
func (s Spec) Features() int {
	if len(s.FeatureShape) == 0 {
		return 0
	}
	n := 1
	for _, d := range s.FeatureShape {
		n *= d
	}
	return n
}

// Op is what happens to a slot in a batch.
type Op byte

// The operations.
const (
	Skip  Op = 0 // leave the slot alone; its reply fields are undefined
	Step  Op = 1 // apply the action
	Reset Op = 2 // start the episode of the seed
)

// Want is the set of optional columns that a reply must have.
type Want uint32

// The optional columns.
const (
	WantText     Want = 1 << iota // Text
	WantFeatures                  // Features
)

// Batch is one operation for every slot. All columns have Spec.Slots rows.
type Batch struct {
	Ops     []Op
	Actions []int32  // index into Spec.Actions where Op is Step
	Texts   []string // the action where Spec.Actions is empty
	Seeds   []uint64 // where Op is Reset: identical seeds are identical starts
	Want    Want
}

// Flag is a bit set about a slot after an operation.
type Flag byte

// The flags.
const (
	Terminated    Flag = 1 << iota // the episode reached an end state
	Truncated                      // the environment cut the episode
	Failed                         // the slot failed; Events has the reason
	InvalidAction                  // the action was understood but had no legal effect
)

// Reply is what every slot answered. Its columns are reused between calls:
// what is kept must be copied. Strings are safe to keep.
type Reply struct {
	Anchor   []string  // raw observation: equal strings are equal states
	Text     []string  // what a reader would see; with WantText
	Features []float32 // Slots × Spec.Features(), row-major; with WantFeatures
	Mask     []byte    // Slots × len(Spec.Actions), 1 = available
	Reward   []float64 // finite; 0 after a reset
	Flags    []Flag
	Events   []Event // sparse, by slot
}

// EventKind is the kind of an Event.
type EventKind string

// The closed set of event kinds.
const (
	EventError      EventKind = "error"       // why a slot is Failed
	EventToolResult EventKind = "tool_result" // what a tool answered; becomes a tool message
	EventInfo       EventKind = "info"        // JSON for Step.Info; after a reset, for Trajectory.Metadata
	EventMetric     EventKind = "metric"      // a finite number about the episode, in JSON; the last of a name counts
	EventTask       EventKind = "task"        // JSON of an rl.Task, after a reset only: what the episode starts from
)

// Event is information that only a few slots report.
type Event struct {
	Slot    int
	Kind    EventKind
	Name    string // tool name or info key
	Message string
}

// NewBatch allocates the columns of a batch for spec.
func NewBatch(spec Spec) *Batch {
	return &Batch{
		Ops:     make([]Op, spec.Slots),
		Actions: make([]int32, spec.Slots),
		Texts:   make([]string, spec.Slots),
		Seeds:   make([]uint64, spec.Slots),
	}
}

// Check reports the first way in which b does not fit spec.
func (b *Batch) Check(spec Spec) error {
	n := spec.Slots
	if len(b.Ops) != n || len(b.Actions) != n || len(b.Texts) != n || len(b.Seeds) != n {
		return fmt.Errorf("batch columns have %d ops, %d actions, %d texts, %d seeds; the environment has %d slots",
			len(b.Ops), len(b.Actions), len(b.Texts), len(b.Seeds), n)
	}
	for i, op := range b.Ops {
		if op > Reset {
			return fmt.Errorf("slot %d: unknown operation %d", i, op)
		}
		if op == Step && len(spec.Actions) > 0 && (b.Actions[i] < 0 || int(b.Actions[i]) >= len(spec.Actions)) {
			return fmt.Errorf("slot %d: action %d is not one of %d", i, b.Actions[i], len(spec.Actions))
		}
	}
	return nil
}
