package interchange

import (
	"encoding/json"

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
	steps := t.Steps
	if len(steps) == 0 {
		for i, at := range t.AssistantIndex(nil) {
			if at >= 0 {
				steps = append(steps, newStep(len(steps), i, &t.Messages[i]).Step)
			}
		}
	}
	score := scoreOf(t)
	paid := false
	for i := range steps {
		paid = paid || steps[i].EnvReward != 0
	}
	for i := range steps {
		s := &steps[i]
		if t.BranchOf != "" && i < t.BranchAt {
			continue
		}
		r := stepRow{Group: t.Group, Trajectory: t.ID, Step: i, Action: s.Action.Text, Valid: s.ActionValid, Score: score, Rewards: rewardsOf(t, score)}
		if r.Group == "" {
			r.Group = t.ID
		}
		if s.MessageCount > 0 {
			r.Observation = t.Messages[s.MessageCount-1].Content.Text()
		}
		if len(s.Action.ToolCalls) > 0 {
			calls, _ := json.Marshal(s.Action.ToolCalls)
			r.Action = string(calls)
		}
		if score != nil {
			r.Reward = new(s.EnvReward)
			if last := i == len(steps)-1; last && !paid {
				r.Reward = score
			}
		}
		if len(s.Tokens) > 0 || s.LogProb != 0 {
			r.LogProb = new(s.LogProb)
		}
		if i == len(steps)-1 {
			r.Terminated, r.Truncated = t.StopReason != rl.StopTruncated, t.StopReason == rl.StopTruncated
		}
		if t.BranchOf != "" {
			r.BranchOf, r.BranchAt = t.BranchOf, new(t.BranchAt)
		}
		text, err := json.Marshal(r)
		if err != nil {
			return nil, err
		}
		rows = append(rows, text)
	}
	return rows, nil
}

func scoreOf(t *rl.Trajectory) *float64 {
	if t.Outcome != "scored" || t.Evaluation == nil || !t.Evaluation.IsScoreValid {
		return nil
	}
	return new(t.Evaluation.Score)
}

// rewardsOf returns the scores of which the score is the weighted sum; nil if it is not one.
func rewardsOf(t *rl.Trajectory, score *float64) map[string]*judged {
	if score == nil {
		return nil
	}
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
