package rubrics

import (
	"encoding/json"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/rubric"
)

// samples are rules that score a text by its length.
var samples = map[rubric.Language]string{
	rubric.Python:     "def rule(output, task):\n    return min(1, len(output[\"text\"]) / 20)\n",
	rubric.JavaScript: "const rule = (output) => Math.min(1, output.text.length / 20);",
}

// Sample returns an episode for trying a rubric reward, as an environment would create it:
// rules in every allowed language, and a question for a judge behind a server. It is nil if no
// language is allowed.
func (k *Checker) Sample() (*rl.Trajectory, error) {
	truth := &rubric.Rubric{Name: "sample"}
	for _, l := range k.config.Languages {
		truth.Criteria = append(truth.Criteria, rubric.Criterion{Name: string(l), Rule: rubric.Rule{Language: l, Code: samples[l]}})
	}
	if len(truth.Criteria) == 0 {
		return nil, nil
	}
	written := *truth
	if k.asked != nil {
		written.Criteria = append(append([]rubric.Criterion(nil), truth.Criteria...), rubric.Criterion{Name: "question", Rule: rubric.Rule{Question: "Is it a greeting?"}})
	}
	for _, r := range []*rubric.Rubric{truth, &written} {
		for i := range r.Criteria {
			r.Criteria[i].Weight = 1 / float64(len(r.Criteria))
		}
	}
	work := rubric.Workflow{Task: "Write a greeting."}
	for _, text := range []string{"Hello.", "Good morning, everybody."} {
		work.Outputs = append(work.Outputs, rubric.Output{Resources: []rubric.Resource{{Name: "greeting.md", Kind: rubric.Document, Text: text}}})
	}
	t := &rl.Trajectory{
		ID: "sample", StopReason: rl.StopTerminated,
		Messages: []rl.Message{{Role: rl.RoleUser, Content: rl.Text("What counts?")}, {Role: rl.RoleAssistant, Content: rl.Text("Its length.")}},
		Steps:    []rl.Step{{MessageCount: 1, Action: rl.Action{Kind: rl.ActionText, Text: "Its length."}, ActionValid: true, Terminated: true}},
	}
	var err error
	if t.GroundTruth, err = json.Marshal(map[string]any{rubric.TaskTruth: truth, rubric.TaskOutputs: len(work.Outputs)}); err != nil {
		return nil, err
	}
	t.Steps[0].Info = map[string]json.RawMessage{}
	for key, v := range map[string]any{rubric.InfoWritten: rubric.Written{Rubric: &written, Attempts: 1}, rubric.InfoWorkflow: work} {
		if t.Steps[0].Info[key], err = json.Marshal(v); err != nil {
			return nil, err
		}
	}
	return t, nil
}
