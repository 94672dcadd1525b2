package interchange

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/merit-rl/merit/core/rl"
)

// stepRow is a row of an estimator: see package rowio.
type stepRow struct {
	Group       string             `json:"group"`
	Trajectory  string             `json:"trajectory"`
	Step        int                `json:"step"`
	Observation string             `json:"observation"`
	Action      string             `json:"action"`
	Reward      *float64           `json:"reward"`
	Score       *float64           `json:"episode_score"`
	Valid       bool               `json:"valid"`
	LogProb     *float64           `json:"log_prob,omitempty"`
	Terminated  bool               `json:"terminated,omitempty"`
	Truncated   bool               `json:"truncated,omitempty"`
	BranchOf    string             `json:"branch_of,omitempty"`
	BranchAt    *int               `json:"branch_at,omitempty"`
	Rewards     map[string]*judged `json:"rewards,omitempty"`
}

type judged struct {
	Score  float64 `json:"score"`
	Weight float64 `json:"weight"`
}

// StepRows returns a row for each step of a trajectory; for one without steps, for each answer
// of the assistant after the prompt. The last step has the score as its reward, unless the
// environment rewarded steps. A branch has rows for its own steps only.
func StepRows(t *rl.Trajectory) (rows [][]byte, err error) {
	if len(t.Steps) == 0 {
		bare := *t
		answered(&bare)
		t = &bare
	}
	score := scoreOf(t)
	paid := slices.ContainsFunc(t.Steps, func(s rl.Step) bool { return s.EnvReward != 0 })
	for i := range t.Steps {
		if t.BranchOf != "" && i < t.BranchAt {
			continue
		}
		r := stepRowOf(t, i)
		if r.Score = score; score != nil {
			r.Rewards, r.Reward = rewardsOf(t), new(t.Steps[i].EnvReward)
			if i == len(t.Steps)-1 && !paid {
				r.Reward = score
			}
		}
		text, err := json.Marshal(r)
		if err != nil {
			return nil, err
		}
		rows = append(rows, text)
	}
	return rows, nil
}

// stepRowOf returns the row of step i without rewards.
func stepRowOf(t *rl.Trajectory, i int) stepRow {
	s := &t.Steps[i]
	r := stepRow{Group: cmp.Or(t.Group, t.ID), Trajectory: t.ID, Step: i, Action: s.Action.Text, Valid: s.ActionValid}
	if s.MessageCount > 0 {
		r.Observation = t.Messages[s.MessageCount-1].Content.Text()
	}
	if len(s.Action.ToolCalls) > 0 {
		calls, _ := json.Marshal(s.Action.ToolCalls) // texts always marshal
		r.Action = string(calls)
	}
	if len(s.Tokens) > 0 || s.LogProb != 0 {
		r.LogProb = new(s.LogProb)
	}
	if i == len(t.Steps)-1 {
		r.Terminated, r.Truncated = t.StopReason != rl.StopTruncated, t.StopReason == rl.StopTruncated
	}
	if t.BranchOf != "" {
		r.BranchOf, r.BranchAt = t.BranchOf, new(t.BranchAt)
	}
	return r
}

func scoreOf(t *rl.Trajectory) *float64 {
	if t.Outcome != "scored" || t.Evaluation == nil || !t.Evaluation.IsScoreValid {
		return nil
	}
	return new(t.Evaluation.Score)
}

// rewardsOf returns the scores of which the score is the weighted sum; nil if it is not one.
func rewardsOf(t *rl.Trajectory) map[string]*judged {
	all := map[string]*judged{}
	for _, m := range t.Evaluation.Metrics {
		if m.Weight != nil {
			all[m.Name] = &judged{m.Score, *m.Weight}
		}
	}
	if len(all) < 2 {
		return nil
	}
	return all
}
