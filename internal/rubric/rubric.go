// Package rubric judges work by written criteria. It defines the types (a Rubric, its Rules, a
// Workflow with the outputs of its workers), the engine that evaluates outputs by a rubric,
// and the scorer that compares the rubric written by an agent with the one that a stakeholder
// has in mind.
//
// Rules are untrusted code and questions to models. A Checker applies them. A failed rule is a
// verdict with an outcome, never the score 0.
package rubric

// Rubric is a list of weighted criteria for judging an output. The score of an output, its
// weighted preference total, is the sum of weight × score over the criteria: from 0 to 1.
type Rubric struct {
	Name        string      `json:"name"`
	Description string      `json:"description,omitempty"`
	Criteria    []Criterion `json:"criteria"`
}

// Criterion is one aspect that counts.
type Criterion struct {
	Name        string `json:"name"` // unique within its rubric
	Description string `json:"description,omitempty"`
	// Weight is the criterion's share of the total: above 0; the weights of a rubric sum to 1.
	Weight float64 `json:"weight"`
	Rule   Rule    `json:"rule"`
}

// Rule says how well an output meets a criterion, from 0 (not at all) to 1. It is either code
// or a question.
type Rule struct {
	// Language is the language of Code: python or javascript.
	Language Language `json:"language,omitempty"`
	// Code defines a function rule(output, task) that returns a bool or a number from 0 to 1.
	// Output is {"text": …, "resources": [{"name", "kind", "text"}]}, where text is the text
	// of all resources; task is {"text": …, "inputs": […]}. The code runs in the sandbox, from
	// a fresh state for every output.
	Code string `json:"code,omitempty"`
	// Question is a question to a judge about one output.
	Question string `json:"question,omitempty"`
}

// Language is the language of a rule's code.
type Language string

// The languages.
const (
	Python     Language = "python"
	JavaScript Language = "javascript"
)

// Asks reports whether r is a question to a judge.
func (r Rule) Asks() bool { return r.Question != "" }
