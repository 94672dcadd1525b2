// Package tasks reads the tasks of a reward from rows: the prompt, the ground truth, the answers that
// it stands for, and the forms in which a reply states an answer. Audits and attacks share it.
package tasks

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// Task is one question of the data, with its ground truth.
type Task struct {
	Row     *rl.Trajectory // the prompt and the columns
	Prompt  string         // the texts of the prompt
	Truth   json.RawMessage
	Answers []string         // what a right reply says, the longest first; nil of a structured truth
	Rows    []*rl.Trajectory // as recorded
	Single  bool             // a prompt and one reply, so that another reply can take its place
}

// Of returns at most a number of tasks of rows, those with different truths first.
func Of(rows []*rl.Trajectory, info reward.Info, most int) []*Task {
	var all []*Task
	byKey := map[string]*Task{}
	for _, row := range rows {
		prompt, one := split(row)
		truth := truthOf(row, info)
		columns, _ := json.Marshal(row.Metadata) // of decoded JSON
		key := prompt + "\x00" + string(truth) + "\x00" + string(columns)
		t := byKey[key]
		if t == nil || !one {
			t = &Task{Row: row, Prompt: prompt, Truth: truth, Single: one}
			if one {
				t.Answers = AnswersOf(truth)
			}
			byKey[key] = t
			all = append(all, t)
		}
		t.Rows = append(t.Rows, row)
	}
	seen := map[string]bool{}
	slices.SortStableFunc(all, func(a, b *Task) int { return rank(a) - rank(b) })
	var first, rest []*Task
	for _, t := range all {
		if seen[string(t.Truth)] {
			rest = append(rest, t)
			continue
		}
		seen[string(t.Truth)] = true
		first = append(first, t)
	}
	all = append(first, rest...)
	return all[:min(len(all), most)]
}

// rank puts tasks with plain answers before those with another truth, and these before tasks
// without one.
func rank(t *Task) int {
	switch {
	case len(t.Answers) > 0:
		return 0
	case t.Truth != nil:
		return 1
	}
	return 2
}

// split returns the text of the prompt of a row, and whether one reply in text follows it.
func split(row *rl.Trajectory) (prompt string, one bool) {
	var b strings.Builder
	n := PromptEnd(row)
	for _, m := range row.Messages[:n] {
		b.WriteString(m.Content.Text() + "\n")
	}
	return b.String(), n == len(row.Messages) || n == len(row.Messages)-1 && row.Messages[n].ToolCalls == nil
}

// Reply returns the text of the last reply of a row.
func Reply(row *rl.Trajectory) (text string) {
	for _, m := range row.Messages {
		if m.Role == rl.RoleAssistant {
			text = m.Content.Text()
		}
	}
	return text
}

// PromptEnd is the number of messages before the first reply.
func PromptEnd(row *rl.Trajectory) int {
	for i, m := range row.Messages {
		if m.Role == rl.RoleAssistant {
			return i
		}
	}
	return len(row.Messages)
}

// truthColumns are the columns that hold ground truths, in the data sets and trainers that are
// known to us.
var truthColumns = []string{
	"ground_truth", "answer", "answers", "solution", "target", "label", "gold", "reference", "expected_answer", "gt", "correct_answer",
	"tests", "test", "test_cases", "public_test_cases", "private_test_cases", "test_list", "input_output", "expected_calls",
}

// TruthNames returns the columns of a row that hold its truth: those that the reward has
// parameters for, or all of them if it has none, as it may read any.
func TruthNames(row *rl.Trajectory, info reward.Info) (names []string) {
	var asked []string
	for _, name := range truthColumns {
		if _, ok := row.Metadata[name]; !ok {
			continue
		}
		names = append(names, name)
		if info.Entry != nil && slices.ContainsFunc(info.Entry.Asks, func(p reward.Parameter) bool { return p.Name == name }) {
			asked = append(asked, name)
		}
	}
	if asked != nil {
		return asked
	}
	return names
}

// truthOf returns the ground truth of a row, or nil.
func truthOf(row *rl.Trajectory, info reward.Info) json.RawMessage {
	if said(row.GroundTruth) {
		return row.GroundTruth
	}
	for _, name := range TruthNames(row, info) {
		if v := row.Metadata[name]; said(v) {
			return v
		}
	}
	return nil
}

// Structured reports whether the row has objects for the reward to score: in its ground truth,
// which then is not an answer, or in a column.
func (t *Task) Structured() bool {
	object := func(v json.RawMessage) bool {
		return bytes.Contains(v, []byte("{")) && !bytes.HasPrefix(v, []byte(`"`))
	}
	for name, v := range t.Row.Metadata {
		if object(v) && !slices.Contains(truthColumns, name) {
			return true
		}
	}
	return len(t.Answers) == 0 && object(t.Truth)
}

// said reports whether a truth says anything: not null, and not an empty text, list or object,
// beside which doing nothing may be right.
func said(truth json.RawMessage) bool {
	switch strings.Trim(strings.Join(strings.Fields(string(truth)), ""), `"`) {
	case "", "null", "[]", "{}":
		return false
	}
	return true
}

// With returns a copy of the row with another reply and another truth; nil keeps the truth, and
// an empty one removes it.
func (t *Task) With(info reward.Info, id, reply string, truth json.RawMessage) *rl.Trajectory {
	row := *t.Row
	row.ID, row.Group, row.Steps, row.Evaluation, row.Outcome = id, "", nil, nil, ""
	n := PromptEnd(t.Row)
	row.PromptMessages = &n
	row.Messages = append(slices.Clone(t.Row.Messages[:n]), rl.Message{Role: rl.RoleAssistant, Content: rl.Text(reply)})
	if truth != nil {
		SetTruth(&row, t.Row, info, truth)
	}
	return &row
}

// SetTruth gives a copy of a row another truth, in the columns where the row has its own.
func SetTruth(row, of *rl.Trajectory, info reward.Info, truth json.RawMessage) {
	row.Metadata = maps.Clone(of.Metadata)
	for _, name := range TruthNames(of, info) {
		if row.Metadata[name] = truth; len(truth) == 0 {
			delete(row.Metadata, name)
		}
	}
	if row.GroundTruth = nil; len(of.GroundTruth) > 0 && len(truth) > 0 {
		row.GroundTruth = truth
	}
}

var (
	marked = regexp.MustCompile(`####\s*(\S[^\n]*?)\s*$`)
	boxed  = regexp.MustCompile(`\\boxed\{([^{}]+)\}`)
	tagged = regexp.MustCompile(`(?s)<answer>\s*(.+?)\s*</answer>`)
	// Integer matches an integer.
	Integer = regexp.MustCompile(`^-?\d+$`)
	// Words matches words without punctuation.
	Words = regexp.MustCompile(`^[\p{L}\p{N}][\p{L}\p{N} ]*$`)
)

// AnswersOf returns the answers that a ground truth stands for: its text, and what its last mark
// holds. A list of texts stands for each of them; the first is used. It returns nil of what is
// not an answer, such as tests.
func AnswersOf(truth json.RawMessage) []string {
	text, ok := plain(truth)
	if !ok || strings.TrimSpace(text) == "" || len(text) > 4000 {
		return nil
	}
	answers := []string{text}
	for _, mark := range []*regexp.Regexp{marked, boxed, tagged} {
		if m := mark.FindAllStringSubmatch(text, -1); m != nil {
			answers = append(answers, m[len(m)-1][1])
		}
	}
	if last := answers[len(answers)-1]; len(last) > 200 || strings.Contains(last, "assert ") || strings.HasPrefix(strings.TrimSpace(last), "{") || strings.HasPrefix(strings.TrimSpace(last), "[{") {
		return nil
	}
	return answers
}

// plain returns the text of a text, a number, a list of them, or an object with one of the usual
// names.
func plain(raw json.RawMessage) (string, bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return "", false
	}
	switch raw[0] {
	case '"':
		var s string
		return s, strictjson.Unmarshal(raw, &s) == nil
	case '[':
		var list []json.RawMessage
		if strictjson.Unmarshal(raw, &list) != nil || len(list) == 0 {
			return "", false
		}
		return plain(list[0])
	case '{':
		var fields map[string]json.RawMessage
		if strictjson.Unmarshal(raw, &fields) != nil {
			return "", false
		}
		for _, name := range []string{"ground_truth", "target", "answer", "value", "solution"} {
			if v, ok := fields[name]; ok {
				return plain(v)
			}
		}
		return "", false
	case 't', 'f', 'n':
		return "", false
	}
	return string(raw), true
}

// Answer is the shortest form of the right answer.
func (t *Task) Answer() string { return strings.TrimSpace(t.Answers[len(t.Answers)-1]) }

// Forms are the common forms of a reply with an answer.
var Forms = []string{
	"%s", "The answer is %s", "The answer is: %s.", "Let me think.\nA: %s", "Let me think.\n#### %s", "So it is \\boxed{%s}.",
	"<answer>%s</answer>", "<think>Let me think.</think>\n<answer>%s</answer>", "<think>\nLet me think.\n</think>\n<answer>\n%s\n</answer>",
	"<reasoning>\nLet me think.\n</reasoning>\n<answer>\n%s\n</answer>\n", "<think>Let me think.</think>\n\\boxed{%s}",
	"<think>\nLet me think.\n</think>\n<answer>\n\\boxed{%s}\n</answer>", "Answer: %s", "ANSWER: %s", "Final Answer: %s", "$%s$",
	"{\"answer\": \"%s\"}", "```\n%s\n```", "(%s)", "<solution>%s</solution>", "<SOLUTION>%s</SOLUTION>", "**%s**",
}

// Number returns the value of an answer that is a plain number.
func Number(answer string) (float64, bool) {
	v, err := strconv.ParseFloat(strings.ReplaceAll(answer, ",", ""), 64)
	return v, err == nil
}

// Differ reports whether two answers certainly differ.
func Differ(a, b string) bool {
	x, isX := Number(a)
	y, isY := Number(b)
	if isX && isY {
		return x != y
	}
	return isX == isY && Words.MatchString(a) && Words.MatchString(b) && !strings.EqualFold(a, b) &&
		!strings.Contains(strings.ToLower(a), strings.ToLower(b)) && !strings.Contains(strings.ToLower(b), strings.ToLower(a))
}

// Another returns an answer of the same kind that is wrong.
func Another(answer string, i int) string {
	if Integer.MatchString(answer) && len(answer) < 15 {
		n, _ := strconv.ParseInt(answer, 10, 64)
		return strconv.FormatInt(n+[]int64{17, 4, -3, 101, 2}[i%5], 10)
	}
	if _, ok := Number(answer); ok {
		return []string{"83114", "17.25", "6", "0.375", "911"}[i%5]
	}
	if len(answer) == 1 && answer[0] >= 'A' && answer[0] <= 'H' {
		return string('A' + (answer[0]-'A'+1+byte(i))%4)
	}
	if low := strings.ToLower(answer); slices.Contains([]string{"yes", "no", "true", "false"}, low) {
		other := map[string]string{"yes": "no", "no": "yes", "true": "false", "false": "true"}[low]
		if answer != low {
			return strings.ToUpper(other[:1]) + other[1:]
		}
		return other
	}
	return []string{"zyxqv", "brontide", "quillon", "marplot", "gambrel"}[i%5]
}

// Raw encodes a truth in the JSON type of another one.
func Raw(text string, like json.RawMessage) json.RawMessage {
	if _, isNumber := Number(text); isNumber && len(like) > 0 && like[0] != '"' && like[0] != '[' && like[0] != '{' {
		return json.RawMessage(text)
	}
	encoded, _ := json.Marshal(text) // a text can be encoded
	if len(like) > 0 && like[0] == '[' {
		return json.RawMessage("[" + string(encoded) + "]")
	}
	return encoded
}
