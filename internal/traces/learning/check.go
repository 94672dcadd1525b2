package learning

import (
	"errors"
	"fmt"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
)

// check says everything that keeps a policy from learning from the set.
func (s *Set) check(o Reading) error {
	a := s.about
	if a.Traces == 0 {
		if a.Unscored > 0 {
			return wrong(fault.Missing, "traces.query", fmt.Sprintf("none of the %d traces that it chooses has a reward", a.Unscored),
				"score them with merit traces score, or label them with merit traces label; or name rewards in the configuration, which then scores them")
		}
		return wrong(fault.Missing, "traces.query", fmt.Sprintf("%q chooses no trace", o.Query), "see what there is with merit traces query --by agent")
	}
	var problems []error
	note := func(key, what, hint string) { problems = append(problems, wrong(fault.Invalid, key, what, hint)) }
	if o.Chooses && len(s.reader.choices) < 2 {
		note("traces.choices", fmt.Sprintf("the calls were offered %d answers to choose among, and the embedded network chooses", len(s.reader.choices)),
			"list the answers as traces.choices, or train a language model with policy.plugin: tinker")
	} else if a.Learnt == 0 {
		note("traces.query", fmt.Sprintf("none of the %d answered calls can be learnt from: %s", a.Calls, reasons(a)), s.unlearnt(o))
	}
	if o.Method == Importance && a.Unknown > 0 {
		note("traces.method", fmt.Sprintf("%d of %d calls were recorded without log-probabilities, and importance corrects by them", a.Unknown, a.Learnt),
			"let the agent ask for logprobs, so that merit traces proxy records them, or imitate what did better with traces.method: clone")
	}
	for _, name := range []string{splitTrain, splitValidation, splitTest} {
		if a.Tasks[name] == 0 {
			total := a.Tasks[splitTrain] + a.Tasks[splitValidation] + a.Tasks[splitTest]
			note("traces.held_out", fmt.Sprintf("of %d tasks none falls to the split %s", total, name), "collect more tasks, or change traces.held_out")
		}
	}
	return errors.Join(problems...)
}

// Alone reports whether no task has two traces to learn from, so that nothing
// can be compared inside of groups.
func (s *Set) Alone() bool {
	for _, g := range s.groups[splitTrain] {
		if g.to-g.from > 1 {
			return false
		}
	}
	return true
}

func (s *Set) unlearnt(o Reading) string {
	if o.Chooses {
		return "name the answers in traces.choices as the model writes them, and the agents in traces.agents"
	}
	return "a language model learns from token ids: record through merit traces proxy from a server that gives them, or choose among answers with the embedded network"
}

func reasons(a run.Traces) string {
	var list []string
	for _, why := range []string{skipAgent, skipError, skipChoice, skipText, skipTokens} {
		if n := a.Skipped[why]; n > 0 {
			list = append(list, fmt.Sprintf("%s (%d)", why, n))
		}
	}
	return strings.Join(list, ", ")
}

func changed(id string) error {
	return &fault.Error{
		Boundary: fault.Storage, Kind: fault.Differs, Where: "trace " + id, What: "changed since the run began",
		Hint: "start a new run, with a query whose traces are finished (status=ok before=1h)",
	}
}
