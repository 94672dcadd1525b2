package align_test

import (
	"fmt"

	"github.com/merit-rl/merit/core/align"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
)

// Three attempts at one task, of two steps each. The reward of the first names
// its steps, that of the second speaks of the whole episode only, and that of
// the third names a step that does not exist.
func Example() {
	attempt := func(id string) *rl.Trajectory {
		t := &rl.Trajectory{ID: id, StopReason: rl.StopTerminated}
		for k, said := range []string{"open the door", "go out"} {
			t.Messages = append(t.Messages, rl.Message{Role: rl.RoleUser, Content: rl.Text("what now?")})
			t.Steps = append(t.Steps, rl.Step{Index: k, MessageCount: len(t.Messages), Anchor: fmt.Sprint("room ", k), ActionValid: true})
			t.Messages = append(t.Messages, rl.Message{Role: rl.RoleAssistant, Content: rl.Text(said)})
		}
		return t
	}
	groups := []*rl.Group{{ID: "g", Trajectories: []*rl.Trajectory{attempt("a"), attempt("b"), attempt("c")}}}
	said := func(score float64, steps ...rl.StepOutput) reward.Evaluation {
		return reward.Evaluation{Outcome: reward.Scored, Result: rl.EvaluateResult{Score: score, IsScoreValid: true, StepOutputs: steps}}
	}
	evaluations := []reward.Evaluation{
		said(1, rl.StepOutput{StepIndex: 0, BaseReward: 0.25}, rl.StepOutput{StepIndex: 1, BaseReward: 0.75}),
		said(0.5),
		said(1, rl.StepOutput{StepIndex: 7, BaseReward: 1}),
	}

	cfg := align.DefaultConfig()
	cfg.MaxUnscored = 0.5 // more than a third may be without a score
	batch, err := align.Join(cfg, groups, evaluations, reward.ByAssistant)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, s := range batch.Steps {
		t := batch.Trajectories[batch.Rows.Trajectory[i]]
		fmt.Printf("%s %s: reward %.2f, score %.1f, scored %v\n", t.ID, s.Anchor, batch.Rows.Reward[i], batch.Rows.Score[i], batch.Rows.Scored[i])
	}
	fmt.Println(batch.Evaluations[2].Reason)
	// Output:
	// a room 0: reward 0.25, score 1.0, scored true
	// a room 1: reward 0.75, score 1.0, scored true
	// b room 0: reward 0.00, score 0.5, scored true
	// b room 1: reward 0.50, score 0.5, scored true
	// c room 0: reward 0.00, score 0.0, scored false
	// c room 1: reward 0.00, score 0.0, scored false
	// trajectory c: step_index 7 (index among the assistant messages after the prompt) does not exist; there are 2
}
