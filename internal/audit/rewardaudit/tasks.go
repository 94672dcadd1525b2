package rewardaudit

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

// task is one question of the data, with its ground truth.
type task struct {
	row     *rl.Trajectory // the prompt and the columns
	prompt  string         // the texts of the prompt
	truth   json.RawMessage
	answers []string         // what a right reply says, the longest first; nil of a structured truth
	rows    []*rl.Trajectory // as recorded
	single  bool             // a prompt and one reply, so that another reply can take its place
	oracle  *probe           // a right reply: of form, or the best; nil if none has a score
	best    *probe           // the reply with the highest score
	form    string           // the form of oracle, with one %s; empty if no form of the answer is right
}

// most is how many tasks an audit probes.
const most = 8

// tasks returns the tasks of rows, those with different truths first.
func tasks(rows []*rl.Trajectory, info reward.Info) []*task {
	var all []*task
	byKey := map[string]*task{}
	for _, row := range rows {
		prompt, one := split(row)
		truth := truthOf(row, info)
		columns, _ := json.Marshal(row.Metadata) // of decoded JSON
		key := prompt + "\x00" + string(truth) + "\x00" + string(columns)
		t := byKey[key]
		if t == nil || !one {
			t = &task{row: row, prompt: prompt, truth: truth, single: one}
			if one {
				t.answers = answersOf(truth)
			}
			byKey[key] = t
			all = append(all, t)
		}
		t.rows = append(t.rows, row)
	}
	seen := map[string]bool{}
	slices.SortStableFunc(all, func(a, b *task) int { return rank(a) - rank(b) })
	var first, rest []*task
	for _, t := range all {
		if seen[string(t.truth)] {
			rest = append(rest, t)
			continue
		}
		seen[string(t.truth)] = true
		first = append(first, t)
	}
	all = append(first, rest...)
	return all[:min(len(all), most)]
}

// rank puts tasks with plain answers before those with another truth, and these before tasks
// without one.
func rank(t *task) int {
	switch {
	case len(t.answers) > 0:
		return 0
	case t.truth != nil:
		return 1
	}
	return 2
}

// split returns the text of the prompt of a row, and whether one reply in text follows it.
func split(row *rl.Trajectory) (prompt string, one bool) {
	var b strings.Builder
	n := promptEnd(row)
	for _, m := range row.Messages[:n] {
		b.WriteString(m.Content.Text() + "\n")
	}
	return b.String(), n == len(row.Messages) || n == len(row.Messages)-1 && row.Messages[n].ToolCalls == nil
}

// reply returns the text of the last reply of a row.
func reply(row *rl.Trajectory) (text string) {
	for _, m := range row.Messages {
		if m.Role == rl.RoleAssistant {
			text = m.Content.Text()
		}
	}
	return text
}

// promptEnd is the number of messages before the first reply.
func promptEnd(row *rl.Trajectory) int {
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

// truthNames returns the columns of a row that hold its truth: those that the reward has
// parameters for, or all of them if it has none, as it may read any.
func truthNames(row *rl.Trajectory, info reward.Info) (names []string) {
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
	for _, name := range truthNames(row, info) {
		if v := row.Metadata[name]; said(v) {
			return v
		}
	}
	return nil
}

// structured reports whether the row has objects for the reward to score: in its ground truth,
// which then is not an answer, or in a column.
func (t *task) structured() bool {
	object := func(v json.RawMessage) bool {
		return bytes.Contains(v, []byte("{")) && !bytes.HasPrefix(v, []byte(`"`))
	}
	for name, v := range t.row.Metadata {
		if object(v) && !slices.Contains(truthColumns, name) {
			return true
		}
	}
	return len(t.answers) == 0 && object(t.truth)
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

// with returns a copy of the row with another reply and another truth; nil keeps the truth, and
// an empty one removes it.
func (t *task) with(info reward.Info, id, reply string, truth json.RawMessage) *rl.Trajectory {
	row := *t.row
	row.ID, row.Group, row.Steps, row.Evaluation, row.Outcome = id, "", nil, nil, ""
	n := promptEnd(t.row)
	row.PromptMessages = &n
	row.Messages = append(slices.Clone(t.row.Messages[:n]), rl.Message{Role: rl.RoleAssistant, Content: rl.Text(reply)})
	if truth != nil {
		setTruth(&row, t.row, info, truth)
	}
	return &row
}

func setTruth(row, of *rl.Trajectory, info reward.Info, truth json.RawMessage) {
	row.Metadata = maps.Clone(of.Metadata)
	for _, name := range truthNames(of, info) {
		if row.Metadata[name] = truth; len(truth) == 0 {
			delete(row.Metadata, name)
		}
	}
	if row.GroundTruth = nil; len(of.GroundTruth) > 0 && len(truth) > 0 {
		row.GroundTruth = truth
	}
}

var (
	marked  = regexp.MustCompile(`####\s*(\S[^\n]*?)\s*$`)
	boxed   = regexp.MustCompile(`\\boxed\{([^{}]+)\}`)
	tagged  = regexp.MustCompile(`(?s)<answer>\s*(.+?)\s*</answer>`)
	integer = regexp.MustCompile(`^-?\d+$`)
	words   = regexp.MustCompile(`^[\p{L}\p{N}][\p{L}\p{N} ]*$`)
)

// answersOf returns the answers that a ground truth stands for: its text, and what its last mark
// holds. A list of texts stands for each of them; the first is used. It returns nil of what is
// not an answer, such as tests.
func answersOf(truth json.RawMessage) []string {
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

// answer is the shortest form of the right answer.
func (t *task) answer() string { return strings.TrimSpace(t.answers[len(t.answers)-1]) }

// forms are the common forms of a reply with an answer.
var forms = []string{
	"%s", "The answer is %s", "The answer is: %s.", "Let me think.\nA: %s", "Let me think.\n#### %s", "So it is \\boxed{%s}.",
	"<answer>%s</answer>", "<think>Let me think.</think>\n<answer>%s</answer>", "<think>\nLet me think.\n</think>\n<answer>\n%s\n</answer>",
	"<reasoning>\nLet me think.\n</reasoning>\n<answer>\n%s\n</answer>\n", "<think>Let me think.</think>\n\\boxed{%s}",
	"<think>\nLet me think.\n</think>\n<answer>\n\\boxed{%s}\n</answer>", "Answer: %s", "ANSWER: %s", "Final Answer: %s", "$%s$",
	"{\"answer\": \"%s\"}", "```\n%s\n```", "(%s)", "<solution>%s</solution>", "<SOLUTION>%s</SOLUTION>", "**%s**",
}

// number returns the value of an answer that is a plain number.
func number(answer string) (float64, bool) {
	v, err := strconv.ParseFloat(strings.ReplaceAll(answer, ",", ""), 64)
	return v, err == nil
}

// differ reports whether two answers certainly differ.
func differ(a, b string) bool {
	x, isX := number(a)
	y, isY := number(b)
	if isX && isY {
		return x != y
	}
	return isX == isY && words.MatchString(a) && words.MatchString(b) && !strings.EqualFold(a, b) &&
		!strings.Contains(strings.ToLower(a), strings.ToLower(b)) && !strings.Contains(strings.ToLower(b), strings.ToLower(a))
}

// another returns an answer of the same kind that is wrong.
func another(answer string, i int) string {
	if integer.MatchString(answer) && len(answer) < 15 {
		n, _ := strconv.ParseInt(answer, 10, 64)
		return strconv.FormatInt(n+[]int64{17, 4, -3, 101, 2}[i%5], 10)
	}
	if _, ok := number(answer); ok {
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

// raw encodes a truth in the JSON type of another one.
func raw(text string, like json.RawMessage) json.RawMessage {
	if _, isNumber := number(text); isNumber && len(like) > 0 && like[0] != '"' && like[0] != '[' && like[0] != '{' {
		return json.RawMessage(text)
	}
	encoded, _ := json.Marshal(text) // a text can be encoded
	if len(like) > 0 && like[0] == '[' {
		return json.RawMessage("[" + string(encoded) + "]")
	}
	return encoded
}
