// Package rubric is how work is judged by written criteria: the nouns (a
// Rubric, its Rules, a Workflow with the outputs of its workers), the engine
// that evaluates outputs by a rubric, and the scorer that holds the rubric
// which an agent wrote against the one that a stakeholder has in mind.
//
// Rules are other people's code and questions to models. What applies them is
// behind the interface Checker, and a rule that fails is a verdict with an
// outcome, never the score 0.
package rubric

// Rubric is a list of criteria by which an output is judged. The score of an
// output, its weighted preference total, is the sum of weight × score over the
// criteria: from 0 to 1.
type Rubric struct {
	Name        string      `json:"name"`
	Description string      `json:"description,omitempty"`
	Criteria    []Criterion `json:"criteria"`
}

// Criterion is one thing that counts.
type Criterion struct {
	Name        string `json:"name"` // unique within its rubric
	Description string `json:"description,omitempty"`
	// Weight is the criterion's share of the total: above 0, and those of a rubric
	// sum to 1.
	Weight float64 `json:"weight"`
	Rule   Rule    `json:"rule"`
}

// Rule says how well an output meets a criterion, from 0 (not at all) to 1.
// It is either code or a question.
type Rule struct {
	// Language is python or javascript, of Code.
	Language Language `json:"language,omitempty"`
	// Code defines a function rule(output, task) that returns a bool or a number
	// from 0 to 1. Output is {"text": …, "resources": [{"name", "kind", "text"}]},
	// where text is that of all resources; task is {"text": …, "inputs": […]}. It
	// runs in the sandbox, fresh for every output.
	Code string `json:"code,omitempty"`
	// Question is put to a judge about one output.
	Question string `json:"question,omitempty"`
}

// Language is what the code of a rule is written in.
type Language string

// The closed set of languages.
const (
	Python     Language = "python"
	JavaScript Language = "javascript"
)

// Asks reports whether r is a question to a judge.
func (r Rule) Asks() bool { return r.Question != "" }
