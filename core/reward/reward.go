// Package reward defines rewards for the pipeline: a Scorer that turns
// trajectories into Evaluations with a closed set of outcomes, composition of
// several scorers, and the pool that runs them in parallel with results in input
// order.
package reward

import (
	"context"
	"encoding/json"
	"time"

	"github.com/merit-rl/merit/core/rl"
)

// Outcome is how an evaluation ended. Only Scored has a score: a failed reward
// never counts as 0.
type Outcome string

// The closed set of outcomes; the strings are the JSON values.
const (
	Scored         Outcome = "scored"
	Invalid        Outcome = "invalid"       // the reward marked the score as invalid
	GuestError     Outcome = "guest_error"   // the reward reported an error
	Trap           Outcome = "trap"          // the guest trapped
	OutOfFuel      Outcome = "out_of_fuel"   // the deterministic budget is used up
	OutOfMemory    Outcome = "out_of_memory" // memory limit
	OutputLimit    Outcome = "output_limit"  // results or log larger than allowed
	ABIViolation   Outcome = "abi_violation" // the guest broke the calling contract, or a judge's answer cannot be used
	Unaligned      Outcome = "unaligned"     // a step that does not exist, twice, or not finite
	Timeout        Outcome = "timeout"       // wall clock: not deterministic
	Infrastructure Outcome = "infrastructure"
)

// Outcomes lists the closed set in the order in which tables show it.
var Outcomes = []Outcome{
	Scored, Invalid, GuestError, Trap, OutOfFuel, OutOfMemory, OutputLimit, ABIViolation, Unaligned, Timeout, Infrastructure,
}

// Evaluation is the result of one trajectory.
type Evaluation struct {
	Outcome Outcome
	Result  rl.EvaluateResult // meaningful if Outcome is Scored or Invalid
	Reason  string            // why there is no score; guest text is capped and escaped
	Log     string            // the guest's log, capped and escaped
	// Notes are JSON that is kept with the trajectory, scored or not, such as a
	// judge's explanation. A scorer uses the key ""; a Pool replaces it with the
	// part's name.
	Notes   map[string]json.RawMessage
	Fuel    uint64        // deterministic cost; 0 where not metered
	Elapsed time.Duration // wall clock, for reports only
	// Fatal is set if the reward cannot evaluate anything more, for example because
	// a judge's API key is refused or its budget is spent. A Pool then stops.
	Fatal error
}

// Info identifies a scorer in manifests.
type Info struct {
	Name         string       `json:"name"`
	Digest       string       `json:"digest"` // sha256:… of the module
	ABI          string       `json:"abi"`
	StepIndexing StepIndexing `json:"step_index"`
	Group        bool         `json:"group"` // compares the members of a group
	// Chain lists the rewards that are asked one after the other until one has a score;
	// nil of a reward that is not followed by another one.
	Chain []Info `json:"chain,omitempty"`
	// Function and With are the chosen function of a script and its parameters, a
	// JSON object.
	Function string          `json:"function,omitempty"`
	With     json.RawMessage `json:"with,omitempty"`
	// Entry is the function that a script scores with, chosen or found; nil for
	// other rewards.
	Entry       *Entry `json:"entry,omitempty"`
	GroundTruth Use    `json:"-"`
	// Refused lists what the reward requested but did not get while it was loaded.
	Refused []Refusal `json:"refused,omitempty"`
	// InFlight is how many evaluations it can run at once if it waits for another
	// machine; 0 if it computes locally.
	InFlight int `json:"-"`
}

// Entry describes how a script's function is called.
type Entry struct {
	Function string `json:"function"`
	Shape    string `json:"shape,omitempty"` // whose calling convention it has, such as TRL
	// Batch is how many trajectories one call scores together; 0 is one, or the
	// members of a group if Info.Group is set.
	Batch int `json:"batch,omitempty"`
	// Lists means that one call can score several trajectories.
	Lists bool `json:"lists,omitempty"`
	// Asks lists the parameters that only columns of the data can fill.
	Asks []Parameter `json:"asks,omitempty"`
	// Counts lists global numbers that the script's functions change. An
	// evaluation never sees what another one has written to them.
	Counts []string `json:"counts,omitempty"`
}

// MaxBatch is the most trajectories that one call of a script scores by number.
const MaxBatch = 1024

// batch is Entry.Batch, 0 of what has no entry.
func (i Info) batch() int {
	if i.Entry == nil {
		return 0
	}
	return i.Entry.Batch
}

// function is the name of the function that scores, if there is one.
func (i Info) function() string {
	if i.Entry == nil {
		return i.Function
	}
	return i.Entry.Function
}

// String names the function and its shape.
func (e *Entry) String() string {
	if e.Shape == "" {
		return e.Function
	}
	return e.Function + "  (" + e.Shape + ")"
}

// Parameter is a parameter of a function that a column of the data must fill.
type Parameter struct {
	Name string `json:"name"`
	// Need is what happens if there is no such column.
	Need Need `json:"need"`
	// OrTruth means that the ground truth fills it if no column does.
	OrTruth bool `json:"or_truth,omitempty"`
	// Empty means that the default of a setting is None or an empty value.
	Empty bool `json:"empty,omitempty"`
}

// Need is what happens to a parameter if there is no column of its name.
type Need int

// The needs: a setting has a default or comes after *, an optional parameter has
// the default None or an empty value, and a required one has no default.
const (
	Setting Need = iota
	Optional
	Required
)

// Use is whether a reward uses a part of a trajectory, as far as that is known
// before it runs: a script's signature shows it, a module's does not.
type Use int

// The closed set of uses.
const (
	UseUnknown Use = iota
	UseRead
	UseIgnored
)

// Scorer scores trajectories. It is safe for concurrent use, deterministic in
// everything but Elapsed, and keeps no state between calls. Failures are outcomes.
// If ctx ends, the outcome is Infrastructure, and the caller checks ctx.Err().
type Scorer interface {
	Info() Info
	Evaluate(ctx context.Context, t *rl.Trajectory) Evaluation
}

// GroupScorer is an optional interface: a reward that compares the members of a
// group. It returns one Evaluation per member, in order.
type GroupScorer interface {
	Scorer
	EvaluateGroup(ctx context.Context, members []*rl.Trajectory) []Evaluation
}

// SharedScorer is an optional interface: it prepares what several rewards of one
// kind need from a trajectory once for all of them.
type SharedScorer interface {
	Scorer
	// EvaluateEach returns the evaluation of t by each scorer, in order, as their
	// own Evaluate would. Scorers of another kind may be among them.
	EvaluateEach(ctx context.Context, scorers []Scorer, t *rl.Trajectory) []Evaluation
}
