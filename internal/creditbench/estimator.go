package creditbench

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
)

// Estimator computes advantages: one of core/advantage, or a program in the sandbox.
type Estimator struct {
	Name    string
	Config  advantage.Config
	Program reward.Scorer // nil for one of core/advantage

	Branches *Branches // nil = its episodes do not branch
}

// Adapter is appended to a Python file with a function advantages(rows). It makes a reward of
// the file, the function Function.
//
//go:embed adapter.py
var Adapter string

// Function is the name of the adapter's function.
const Function = "advantages_for_merit"

// row is a row as programs read it: as package rowio does.
type row struct {
	Group       int32   `json:"group"`
	Trajectory  int32   `json:"trajectory"`
	Step        int32   `json:"step"`
	Observation string  `json:"observation"`
	Reward      float64 `json:"reward"`
	Score       float64 `json:"episode_score"`
	Value       float64 `json:"value"`
	Terminated  bool    `json:"terminated"`
	Truncated   bool    `json:"truncated"`
}

// plays returns a batch for e alone.
func (e Estimator) plays(w *World, p Policy, exact *Exact, members int, r *rand.Rand) *episodes {
	if e.Branches != nil {
		return w.branched(e.Branches, p, exact, members, r)
	}
	return w.sample(p, exact, max(1, episodesOfABatch/members), members, r)
}

// estimate returns the advantages of rows, which are valid until result is used again.
func (e Estimator) estimate(ctx context.Context, rows *advantage.Rows, result *advantage.Result) ([]float64, error) {
	if e.Program == nil {
		err := advantage.Estimate(e.Config, rows, result)
		return result.Advantage, err
	}
	list := make([]row, rows.Len())
	for i := range list {
		list[i] = row{
			rows.Group[i], rows.Trajectory[i], rows.Step[i], rows.Anchor[i], rows.Reward[i], rows.Score[i], rows.Value[i], rows.Terminated[i], rows.Truncated[i],
		}
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	steps := make([]rl.Message, len(list)) // each row is a step, which a step output belongs to
	for i := range steps {
		steps[i].Role = rl.RoleAssistant
	}
	found := e.Program.Evaluate(ctx, &rl.Trajectory{ID: "rows", Messages: steps, PromptMessages: new(int), Metadata: map[string]json.RawMessage{"rows": text}})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if found.Outcome != reward.Scored {
		return nil, e.failed(len(list), string(found.Outcome)+": "+said(found), found.Outcome)
	}
	return e.collect(found.Result.StepOutputs, len(list))
}

// said returns why there is no score, without the frames of the adapter.
func said(e reward.Evaluation) string {
	lines := strings.Split(e.Reason, "\n")
	for i := 0; i+1 < len(lines); i++ {
		if strings.HasSuffix(lines[i], "in "+Function) {
			end := i + 1
			for end < len(lines) && strings.HasPrefix(lines[end], "    ") {
				end++
			}
			lines = append(lines[:i], lines[end:]...)
		}
	}
	if len(lines) > 1 && !strings.HasPrefix(lines[1], " ") { // no frame is left
		lines = lines[1:]
	}
	return strings.Join(lines, "\n")
}

// largest is the largest advantage of a program: sums of squares stay finite.
const largest = 1e100

// collect returns the step outputs in the order of the rows.
func (e Estimator) collect(steps []rl.StepOutput, n int) ([]float64, error) {
	out, seen := make([]float64, n), make([]bool, n)
	for _, s := range steps {
		i := int(s.StepIndex)
		switch {
		case i < 0 || i >= n:
			return nil, e.failed(n, fmt.Sprintf("it returns an advantage for row %d", i), reward.Unaligned)
		case seen[i]:
			return nil, e.failed(n, fmt.Sprintf("it returns two advantages for row %d", i), reward.Unaligned)
		case !(math.Abs(s.BaseReward) <= largest):
			return nil, e.failed(n, fmt.Sprintf("the advantage of row %d is %g; at most %g can be compared", i, s.BaseReward, float64(largest)), reward.Unaligned)
		}
		out[i], seen[i] = s.BaseReward, true
	}
	for i, ok := range seen {
		if !ok {
			return nil, e.failed(n, fmt.Sprintf("it returns no advantage for row %d", i), reward.Unaligned)
		}
	}
	return out, nil
}

func (e Estimator) failed(rows int, why string, outcome reward.Outcome) error {
	hint := "return one finite number for each row; --world fork --members 4 --seeds 2 tries a correction in seconds"
	if outcome == reward.OutOfFuel {
		hint = "make the function faster, or allow more with --fuel"
	}
	return &fault.Error{
		Boundary: fault.Sandbox, Kind: fault.Unscored, Where: e.Name, What: fmt.Sprintf("has no advantages for a batch of %d rows: %s", rows, why), Hint: hint,
	}
}
