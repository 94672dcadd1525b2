// Package outcomes maps Merit's outcomes of evaluations to the ways in which other tools say that an
// evaluation failed. It is the one table of them: the server's request formats, the Python package
// and merit eval --retry read it. Tools that have only a number for a score, such as open-instruct and
// verl, have no row here: there a failure is an exception that stops the step, or a number that the
// operator chose.
package outcomes

import (
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/reward"
)

// Cause is what made an evaluation fail.
type Cause string

// The closed set of causes.
const (
	None           Cause = ""
	Row            Cause = "row"            // the reward declared that the row has no score
	Reward         Cause = "reward"         // the code of the reward failed
	Limit          Cause = "limit"          // a deterministic limit: the same input reaches it again
	Infrastructure Cause = "infrastructure" // neither the answer nor the reward: it may have a score next time
)

// Form is how an outcome is said in other tools.
type Form struct {
	Outcome reward.Outcome `json:"outcome"`
	Cause   Cause          `json:"cause"`
	// NeMoGym is _ng_failure_class of a rollout (rollout_collection.py); judge_failed is the class
	// that gym eval reverify --judge-failed-only scores again (rollout_reverification.py).
	NeMoGym string `json:"nemo_gym,omitempty"`
	// Reason is failure_reason of a verify response.
	Reason string `json:"failure_reason"`
	// Terminal is _ng_failure_terminal: Gym does not try it again.
	Terminal bool `json:"terminal,omitempty"`
	// Verifiers is the type of the error that verifiers records on a trace (verifiers/v1/errors.py).
	Verifiers string `json:"verifiers,omitempty"`
	// Miles is Sample.Status of miles (miles/utils/types.py), which plays the group of an aborted
	// sample again. A sample that is not completed also has remove_sample, which keeps it out of the
	// loss; slime, which would go on generating an aborted sample, knows remove_sample only.
	Miles string `json:"miles"`
}

const judgeFailed = "judge_failed"

// table has a row for each outcome, in the order of reward.Outcomes.
var table = []Form{
	{reward.Scored, None, "", "none", false, "", "completed"},
	{reward.Invalid, Row, "merit_invalid", "invalid", true, "TaskError", "failed"},
	{reward.GuestError, Reward, "merit_guest_error", "guest_error", true, "TaskError", "failed"},
	{reward.Trap, Reward, "merit_trap", "trap", true, "TaskError", "failed"},
	{reward.OutOfFuel, Limit, "merit_out_of_fuel", "out_of_fuel", true, "TaskError", "failed"},
	{reward.OutOfMemory, Limit, "merit_out_of_memory", "out_of_memory", true, "TaskError", "failed"},
	{reward.OutputLimit, Limit, "merit_output_limit", "output_limit", true, "TaskError", "failed"},
	{reward.ABIViolation, Reward, "merit_abi_violation", "abi_violation", true, "TaskError", "failed"},
	{reward.Unaligned, Reward, "merit_unaligned", "unaligned", true, "TaskError", "failed"},
	{reward.Timeout, Infrastructure, judgeFailed, "timeout", false, "SandboxError", "aborted"},
	{reward.Infrastructure, Infrastructure, judgeFailed, "infrastructure", false, "SandboxError", "aborted"},
}

// All returns the table.
func All() []Form { return slices.Clone(table) }

// Of returns the row of an outcome; an unknown one counts as failed by the infrastructure.
func Of(o reward.Outcome) Form {
	if i := slices.IndexFunc(table, func(f Form) bool { return f.Outcome == o }); i >= 0 {
		return table[i]
	}
	return table[len(table)-1]
}

// Said returns what a Python traceback says after its frames, which are indented; other reasons
// unchanged.
func Said(reason string) string {
	if !strings.HasPrefix(reason, "Traceback (most recent call last)") {
		return reason
	}
	lines := strings.Split(reason, "\n")
	for i := len(lines) - 2; i > 0; i-- {
		if strings.HasPrefix(lines[i], "  ") {
			return strings.Join(lines[i+1:], "\n")
		}
	}
	return reason
}
