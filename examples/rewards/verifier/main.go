// Package main scores whether an answer states the ground truth, by the package
// answer: 1 or 0, or no score if the package cannot decide. README.md has the rules.
package main

import (
	"strings"

	"github.com/merit-rl/merit/sdk/answer"
	"github.com/merit-rl/merit/sdk/reward"
)

func init() {
	reward.Register(score)
	ready()
}

func main() {}

func score(r *reward.Rollout) reward.Result {
	marks, err := marksOf(r.Meta("after"))
	if err != nil {
		return reward.Error(err)
	}
	golds, err := goldsOf(r.GroundTruth)
	if err != nil {
		return reward.Invalid(err.Error())
	}
	text := r.Answer()
	if text == "" {
		return reward.Invalid("there is no answer: no message of the assistant has text")
	}
	return compare(golds, rest(text, marks), marks)
}

// compare scores 1 if text states one of the ground truths, and 0 if it states none of
// them. It gives no score if one of them may be stated.
func compare(golds []string, text string, marks []string) reward.Result {
	var last answer.Verdict
	undecided := ""
	for _, gold := range golds {
		last = answer.Check(rest(gold, marks), text)
		switch last.Outcome {
		case answer.Equal:
			return decided(1, "equals", last)
		case answer.Unknown:
			undecided = last.Way
		}
	}
	if undecided != "" {
		result := reward.Invalid("not decided: " + undecided)
		result.Metrics = []reward.Metric{{Name: "decided", Value: 0}}
		return result
	}
	return decided(0, "does not equal", last)
}

// decided is a score with the way in which it was found.
func decided(score float64, relation string, v answer.Verdict) reward.Result {
	result := reward.Score(score)
	result.Reason = "'" + cut(v.Answer) + "' " + relation + " '" + cut(v.Gold) + "' (" + v.Way + ")"
	metrics = [...]reward.Metric{{Name: "decided", Value: 1}, {Name: by(v.Way), Value: 1}, {Name: "error_bound", Value: v.Error}}
	result.Metrics = metrics[:]
	return result
}

// metrics are those of the last result: an evaluation has one, and a slice that lives on
// costs nothing.
var metrics [3]reward.Metric

// by is the name of the metric of a way. Those that decide nearly always are not put together.
func by(way string) string {
	switch way {
	case "text":
		return "by_text"
	case "number":
		return "by_number"
	}
	return "by_" + strings.ReplaceAll(way, " ", "_")
}

// rest returns what follows the last of each mark, of those that occur. Without marks it is
// the text: package answer knows the usual ones.
func rest(text string, marks []string) string {
	for _, mark := range marks {
		if at := strings.LastIndex(text, mark); mark != "" && at >= 0 {
			text = text[at+len(mark):]
		}
	}
	return text
}

// shown is how many bytes of an answer a reason quotes.
const shown = 200

func cut(text string) string {
	if len(text) <= shown {
		return text
	}
	return strings.ToValidUTF8(text[:shown], "") + "…"
}

// ready decides one answer of each kind, so that every evaluation begins with filled tables.
// It is not a warm-up of package warmup, which would replace that of
// the sandbox for the input.
func ready() {
	for _, pair := range [][2]string{
		{"18", "She makes 9 * 2 = $18 every day.\n#### 18"}, {`\frac{3}{4}`, `Hence $x = \boxed{0.75}$.`}, {`2\sqrt{3}`, `\boxed{\sqrt{12}}`},
		{`x^2+2x+1`, `\boxed{(x+1)^2}`}, {`\sin 2x`, `\boxed{2\sin x\cos x}`}, {`[2,5)`, `$2 \le x < 5$`}, {`\begin{pmatrix} 1 \\ 2 \end{pmatrix}`, `\boxed{\begin{pmatrix} 1 \\ 2 \end{pmatrix}}`},
		{`(1,-2), (3,4)`, `\boxed{(3,4), (1,-2)}`}, {`\text{(C)}`, `The answer is (C).`}, {`\text{even}`, `\boxed{\text{odd}}`},
	} {
		answer.Check(pair[0], pair[1])
	}
}
