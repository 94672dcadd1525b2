package learning

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
)

// check returns an error that lists every reason why a policy cannot learn from the set.
func (s *Set) check(o Reading) error {
	a := s.about
	if a.Traces == 0 {
		if a.Unscored > 0 {
			return wrong(fault.Missing, "traces.query", fmt.Sprintf("none of the %d traces that match has a reward", a.Unscored),
				"score them with merit traces score, label them with merit traces label, or add rewards to the configuration")
		}
		return wrong(fault.Missing, "traces.query", fmt.Sprintf("no traces match %q", o.Query), "list the traces by agent with merit traces query --by agent")
	}
	var problems []error
	note := func(key, what, hint string) { problems = append(problems, wrong(fault.Invalid, key, what, hint)) }
	if o.Chooses && len(s.reader.choices) < 2 {
		note("traces.choices", fmt.Sprintf("the calls offer %d answers, and the embedded network needs a choice of at least two", len(s.reader.choices)),
			"list the answers as traces.choices, or train a language model with policy.plugin: tinker")
	} else if a.Learnt == 0 {
		note("traces.query", fmt.Sprintf("the policy cannot learn from any of the %d answered calls: %s", a.Calls, reasons(a)), s.unlearnt(o))
	}
	if o.Method == Importance && a.Unknown > 0 {
		note("traces.method", fmt.Sprintf("%d of %d calls were recorded without log-probabilities, which importance needs", a.Unknown, a.Learnt),
			"make the agent request logprobs, so that merit traces proxy records them, or set traces.method: clone")
	}
	needed := []string{splitTrain, splitValidation, splitTest}
	if o.Start != nil { // an environment measures the run
		needed = needed[:1]
	}
	for _, name := range needed {
		if a.Tasks[name] == 0 {
			total := a.Tasks[splitTrain] + a.Tasks[splitValidation] + a.Tasks[splitTest]
			what, hint := fmt.Sprintf("none of the %d tasks is in the split %s", total, name), "collect more tasks, or change traces.held_out"
			if a.Joined > 0 {
				what += fmt.Sprintf("; %d of them share the split of a task whose first call has the same input", a.Joined)
				hint += "; if the first call does not say what the task is, set traces.split_by: task"
			}
			note("traces.held_out", what, hint)
		}
	}
	return errors.Join(problems...)
}

// Alone reports whether every task has at most one trace to learn from, so that
// nothing can be compared within groups.
func (s *Set) Alone() bool {
	for _, g := range s.groups[splitTrain] {
		if g.to-g.from > 1 {
			return false
		}
	}
	return true
}

func (s *Set) unlearnt(o Reading) string {
	if s.reader.encoder != nil {
		return "check that traces.query selects traces of this environment, and that its encode reads them as they were recorded: list them with merit traces list"
	}
	if o.Chooses {
		return "list the answers in traces.choices exactly as the model writes them, and the agents in traces.agents"
	}
	return "set traces.method: clone, which needs no token ids, or record them by sending calls through merit traces proxy to a server that returns them, or use the embedded network to choose among answers"
}

func reasons(a run.Traces) string {
	var list []string
	for _, why := range slices.Sorted(maps.Keys(a.Skipped)) {
		list = append(list, fmt.Sprintf("%s (%d)", why, a.Skipped[why]))
	}
	return strings.Join(list, ", ")
}

func changed(id string) error {
	return &fault.Error{
		Boundary: fault.Storage, Kind: fault.Differs, Where: "trace " + id, What: "changed since the run began",
		Hint: "start a new run, with a query whose traces are finished (status=ok before=1h)",
	}
}
