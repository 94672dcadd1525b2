package rubric

import "fmt"

// systemJSON explains to a language model what it may answer. It is short: small models read
// little.
func (o Options) systemJSON() string {
	first := ""
	if o.MinQuestions > 0 {
		first = fmt.Sprintf(", at least %d before the rubric", o.MinQuestions)
	}
	text := promptJSON
	if o.Form == formNames {
		text = promptNames
	}
	return fmt.Sprintf(text, min(o.Questions, maxQuestions), o.Questions, first)
}

const promptJSON = `A stakeholder wants work done. Find out what counts, then write a rubric: criteria with weights and rules, by which the work is judged as the stakeholder would.
Answer with one JSON object and nothing else. To ask the stakeholder (1 to %d questions at a time, %d in all%s):
{"ask": ["What matters most?"]}
To write the rubric, which ends your task:
{"rubric": {"name": "report", "criteria": [{"name": "short", "weight": 0.7, "rule": {"language": "python", "code": "def rule(output, task):\n    return len(output[\"text\"].split()) <= 120"}}, {"name": "polite", "weight": 0.3, "rule": {"question": "Is the text polite?"}}]}}
Weights sum to 1. A rule is Python code (or JavaScript: "language": "javascript") of a function rule(output, task) that returns true, false or a number from 0 to 1: output["text"] is what a worker made, task["text"] what was asked for, task["inputs"] a list of {"name", "text"}. Or it is a question about the text, put to a judge.`
