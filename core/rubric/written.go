package rubric

// Keys under which an environment gives the scorer what it needs. The truth is
// part of the task and reaches no policy.
const (
	// InfoWritten is the key of a Written in the Info of an episode's last step.
	InfoWritten = "rubric"
	// InfoWorkflow is that of the Workflow, with outputs.
	InfoWorkflow = "workflow"
	// TaskTruth is the key of the stakeholder's Rubric in the task's ground truth,
	// a JSON object.
	TaskTruth = "rubric"
	// TaskOutputs is the key, beside it, of how many outputs there will be: it is
	// what an episode is charged for that ends before any work was done.
	TaskOutputs = "outputs"
)

// Written is what an agent came to before the work was done.
type Written struct {
	// Rubric is what it wrote; nil if it wrote none that can be read.
	Rubric *Rubric `json:"rubric"`
	// Problem says why there is none.
	Problem string `json:"problem,omitempty"`
	// Repairs are what was changed in what it wrote so that it could be read, in
	// order.
	Repairs []string `json:"repairs,omitempty"`
	// Attempts is how many rubrics it sent, read or not.
	Attempts int `json:"attempts"`
	// Questions are those that it asked, answered or not.
	Questions []string `json:"questions"`
	// Answers are what the stakeholder said to them, in their order; "" where
	// nothing was said.
	Answers []string `json:"answers,omitempty"`
}
