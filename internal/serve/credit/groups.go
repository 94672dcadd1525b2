package credit

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/align"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/data/row"
	"github.com/merit-rl/merit/internal/serve/internal/fields"
)

// credited is the credit of the steps of a trajectory.
type credited struct {
	ID      string         `json:"id"`
	Outcome reward.Outcome `json:"outcome"`
	Reason  string         `json:"reason"` // why there is no credit
	Credit  []*rl.Credit   `json:"credit"` // one per step; null without a score
}

// ofGroups handles groups of trajectories with their evaluations. It joins evaluations and
// steps as in training. A trajectory without steps gets one for each assistant message, whose
// state is the preceding message.
func ofGroups(cfg advantage.Config, o fields.Object, most int) ([]byte, error) {
	rule, joining := reward.ByAssistant, align.DefaultConfig()
	joining.MaxUnscored = 1 // the response reports trajectories without a score; they are not limited
	problems := []error{o.Into("step_index", &rule), o.Into("align", &joining)}
	var p fault.Problems
	p.OneOf("step_index", string(rule), string(reward.ByAssistant), string(reward.ByMessage))
	groups, evaluations, err := decodeGroups(o, most)
	if err := errors.Join(append(append(problems, p...), append(joining.Validate(), err)...)...); err != nil {
		return nil, err
	}
	batch, err := align.Join(joining, groups, evaluations, rule)
	if err != nil {
		return nil, err
	}
	if n := len(batch.Steps); n > most {
		return nil, &fault.Error{Boundary: fault.Data, Kind: fault.Exhausted, Where: "groups", What: fmt.Sprintf("%d steps exceed the limit of %d", n, most), Hint: "send fewer steps in a request"}
	}
	var result advantage.Result
	if err := advantage.EstimateWithin(cfg, &batch.Rows, &result, bound); err != nil {
		return nil, explain(batch, err)
	}
	batch.Write(&result)
	out := make([][]credited, len(groups))
	i := 0
	for g, group := range groups {
		for _, t := range group.Trajectories {
			e := batch.Evaluations[i]
			x := credited{ID: t.ID, Outcome: e.Outcome, Reason: e.Reason}
			for k := range t.Steps {
				if e.Outcome == reward.Scored {
					x.Credit = append(x.Credit, t.Steps[k].Credit)
				}
			}
			out[g] = append(out[g], x)
			i++
		}
	}
	text, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}
	return answer("groups", text, result.Stats)
}

// decodeGroups decodes groups and the evaluations of their members.
func decodeGroups(o fields.Object, most int) (groups []*rl.Group, evaluations []reward.Evaluation, err error) {
	list, err := o.Elements("groups", most)
	if err != nil {
		return nil, nil, err
	}
	var problems []error
	if len(list) == 0 {
		problems = append(problems, fields.Wrong("groups", "the list is empty", "send at least one"))
	}
	n := 0
	for g, text := range list {
		where := fmt.Sprintf("groups[%d]", g)
		members, err := fields.Elements(where, text, most-n)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if len(members) == 0 {
			problems = append(problems, fields.Wrong(where, "is empty", "send groups with members"))
		}
		group := &rl.Group{ID: where}
		for i, text := range members {
			n++
			t, e, err := member(fmt.Sprintf("%s[%d]", where, i), text, n)
			if err != nil {
				problems = append(problems, err)
				continue
			}
			group.Trajectories, evaluations = append(group.Trajectories, t), append(evaluations, e)
		}
		groups = append(groups, group)
	}
	return groups, evaluations, errors.Join(problems...)
}

// member decodes one trajectory.
func member(where string, text []byte, number int) (*rl.Trajectory, reward.Evaluation, error) {
	t, err := row.DecodeRequest(text, number)
	if err != nil {
		if f := fault.As(err); f != nil {
			f.Where = where
		}
		return nil, reward.Evaluation{}, err
	}
	if len(t.Steps) == 0 {
		derive(t)
	}
	e := reward.Evaluation{Outcome: reward.Outcome(t.Outcome), Reason: t.Error}
	if len(t.Steps) == 0 {
		return nil, e, fields.Wrong(where, "the trajectory has no steps", "send steps or assistant messages")
	}
	switch {
	case t.Evaluation != nil && t.Evaluation.IsScoreValid && (t.Outcome == "" || e.Outcome == reward.Scored):
		e.Outcome, e.Result = reward.Scored, *t.Evaluation
	case t.Outcome == "" && t.Evaluation == nil:
		return nil, e, fields.Wrong(where+".evaluation", "is missing, and so is an outcome", `send "evaluation": {"score": …}, or an "outcome" such as "out_of_fuel" if there is no score`)
	case t.Outcome == "":
		e.Outcome = reward.Invalid
	case e.Outcome == reward.Scored:
		return nil, e, fields.Wrong(where+".evaluation", "is missing although the outcome is scored", `send "evaluation": {"score": …}, or another outcome`)
	}
	return t, e, nil
}

// derive makes a step from each assistant message.
func derive(t *rl.Trajectory) {
	for i, m := range t.Messages {
		if m.Role != rl.RoleAssistant {
			continue
		}
		s := rl.Step{Index: len(t.Steps), MessageCount: i, ActionValid: true}
		if i > 0 {
			s.Anchor = t.Messages[i-1].Content.Text()
		}
		t.Steps = append(t.Steps, s)
	}
}

// explain names the step in an error that refers to a row.
func explain(batch *align.Batch, err error) error {
	if errors.Is(err, advantage.ErrWork) {
		return tooMuch("groups")
	}
	f := &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, Where: "groups", What: "the advantages cannot be computed", Err: err, Hint: "correct the trajectories, or choose another estimator"}
	if row := (*advantage.RowError)(nil); errors.As(err, &row) {
		t := batch.Trajectories[batch.Rows.Trajectory[row.Row]]
		f.Where = fmt.Sprintf("trajectory %q, step %d", t.ID, batch.Rows.Step[row.Row])
		f.Err = errors.New(row.What)
	}
	return f
}
