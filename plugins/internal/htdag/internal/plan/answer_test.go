package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/plugins/internal/htdag/internal/request"
)

// draw returns the request of a seed.
func draw(t testing.TB, seed uint64) *request.Task {
	root, err := request.New(seed, request.Config{
		Size: [2]int{8, 14}, Depth: [2]int{2, 3}, Synonyms: 100, Vague: 50, Noise: 80, Fresh: 300, Careful: 300, InOrder: 500,
		Accept: func(uint64) bool { return true },
	})
	require.NoError(t, err)
	return root
}

// started is a plan whose request is split into a and b, with a split further.
func started(t testing.TB) *Plan {
	p := New(draw(t, 1), Limits{Tasks: 8, Depth: 2})
	for _, answer := range []string{
		`{"action": "decompose", "task": "request", "subtasks": [{"id": "a", "type": "build", "after": []}, {"id": "b", "type": "test", "after": ["a"]}]}`,
		` {"subtasks": [{"id": "a1", "type": "write", "after": ["a2"]}, {"after": [], "id": "a2", "type": "write"}], "task": "a", "action": "decompose"}` + "\n",
	} {
		a, problems := p.Parse(answer)
		require.Empty(t, problems)
		p.Split(a.Task, a.Subtasks)
	}
	return p
}

// split is an answer that splits b into subtasks.
func split(subtasks string) string {
	return `{"action": "decompose", "task": "b", "subtasks": [` + subtasks + `]}`
}

const fine = `{"id": "x", "type": "build", "after": []}, `

// Promise: an answer that is not exactly one of the two is told what is wrong,
// whatever that is, and is never taken for something else.
func TestWrongAnswers(t *testing.T) {
	p := started(t)
	for answer, want := range map[string]string{
		"":                                 "The answer is empty: say one JSON object.",
		"I execute.":                       "The answer must be one JSON object and nothing else: invalid character 'I' looking for beginning of value.",
		"```json\n{}\n```":                 "The answer must be one JSON object and nothing else: invalid character '`' looking for beginning of value.",
		`{"action": "execute"`:             "The answer must be one JSON object and nothing else: it ends too early.",
		`["execute"]`:                      `The answer must be a JSON object, not "[\"execute\"]".`,
		"null":                             `The answer must be a JSON object, not "null".`,
		"\xff":                             "The answer is not UTF-8.",
		strings.Repeat(" ", maxAnswer+1):   "The answer has 16385 bytes; at most 16384 are read.",
		`{"action": "execute"} {}`:         `Nothing may stand behind the JSON object, but there is "{}".`,
		`{}`:                               "action is missing.",
		`{"Action": "execute"}`:            "action is missing. Action is not a key that is known.",
		`{"action": 1}`:                    `action must be a text, not "1".`,
		`{"action": null}`:                 `action must be a text, not "null".`,
		`{"action": "stop"}`:               `action must be decompose or execute, not "stop".`,
		`{"action": "execute", "why": ""}`: "why is not a key that is known.",
		`{"action": "execute", "task": "b", "subtasks": []}`:      "task is not a key that is known. subtasks is not a key that is known.",
		`{"action": "execute", "action": "execute"}`:              "action is there twice.",
		`{"action": "decompose"}`:                                 "task is missing. subtasks is missing.",
		`{"action": "decompose", "task": "c", "subtasks": {}}`:    `There is no task "c". subtasks must be a list, not "{}".`,
		`{"action": "decompose", "task": ["b"], "subtasks": [1]}`: `task must be a text, not "[\"b\"]". subtasks must have 2 to 5 elements, not 1.`,
		split(strings.Repeat(fine, 5) + fine[:len(fine)-2]):       "subtasks must have 2 to 5 elements, not 6.",
		split(fine + `7`):  `subtasks[1] must be a JSON object, not "7".`,
		split(fine + `{}`): "subtasks[1].id is missing. subtasks[1].type is missing. subtasks[1].after is missing.",
		split(fine + `{"id": "x", "type": "build", "after": []}`):                                                                                       `subtasks[1].id: "x" is there twice.`,
		split(fine + `{"id": "a1", "type": "build", "after": []}`):                                                                                      `subtasks[1].id: there is a task "a1" already.`,
		split(fine + `{"id": "request", "type": "build", "after": []}`):                                                                                 `subtasks[1].id: there is a task "request" already.`,
		split(fine + `{"id": "Y 1", "type": "build", "after": []}`):                                                                                     `subtasks[1].id must have 1 to 24 small letters, digits, _ and -, not "Y 1".`,
		split(fine + `{"id": "y", "type": "bild", "after": []}`):                                                                                        `subtasks[1].type must be one of build, analyse, write, design, research, test, review, not "bild".`,
		split(fine + `{"id": "y", "type": "project", "after": []}`):                                                                                     `subtasks[1].type must be one of build, analyse, write, design, research, test, review, not "project".`,
		split(fine + `{"id": "y", "type": "build", "after": "x"}`):                                                                                      `subtasks[1].after must be a list, not "\"x\"".`,
		split(fine + `{"id": "y", "type": "build", "after": [0]}`):                                                                                      `subtasks[1].after[0] must be a text, not "0".`,
		split(fine + `{"id": "y", "type": "build", "after": ["a"]}`):                                                                                    `subtasks[1].after: "a" is not one of these subtasks.`,
		split(fine + `{"id": "y", "type": "build", "after": ["x", "x"]}`):                                                                               `subtasks[1].after: "x" is there twice.`,
		split(fine + `{"id": "y", "type": "build", "after": [1, 2, 3, 4, 5]}`):                                                                          `subtasks[1].after has 5 elements; there can be at most 4.`,
		split(fine + `{"id": "y", "type": "build", "after": ["y"]}`):                                                                                    "The subtasks wait for each other in a circle.",
		split(`{"id": "x", "type": "build", "after": ["y"]}, {"id": "y", "type": "build", "after": ["x"]}`):                                             "The subtasks wait for each other in a circle.",
		split(fine + `{"id": "y", "type": "build", "after": [], "size": 2}`):                                                                            "subtasks[1].size is not a key that is known.",
		strings.Replace(split(fine+`{"id": "y", "type": "build", "after": []}`), `"b"`, `"a"`, 1):                                                       `Task "a" is split already.`,
		strings.Replace(split(fine+`{"id": "y", "type": "build", "after": []}`), `"b"`, `"a1"`, 1):                                                      `Task "a1" is 2 levels below the request: nothing deeper is allowed.`,
		split(fine + `{"id": "y", "type": "build", "after": []}, {"id": "z", "type": "build", "after": []}, {"id": "w", "type": "build", "after": []}`): "A plan has at most 8 tasks: with 4 more this one has 9.",
	} {
		a, problems := p.Parse(answer)
		require.Equal(t, want, strings.Join(problems, " "), answer)
		require.Equal(t, Answer{}, a, answer)
	}
}

// Promise: problems do not grow with the answer.
func TestManyProblems(t *testing.T) {
	var keys []string
	for i := range 1000 {
		keys = append(keys, fmt.Sprintf(`"k%d": %d`, i, i))
	}
	_, problems := started(t).Parse(`{"action": "execute", ` + strings.Join(keys, ", ") + `}`)
	require.Len(t, problems, maxProblems+1)
	require.Equal(t, "And 984 more.", problems[maxProblems])
}

// Promise: what an answer says is what is done: ids, types and what waits for
// what, in any order of keys and subtasks.
func TestAnswers(t *testing.T) {
	p := started(t)
	require.Len(t, p.Nodes, 5)
	require.Equal(t, []int{0}, p.Find("b").After)
	require.Equal(t, []int{1}, p.Find("a1").After)
	require.Equal(t, request.Write, p.Find("a2").Kind)
	require.Equal(t, 2, p.Find("a2").Depth)
	a, problems := p.Parse(`{"action": "execute"}`)
	require.Empty(t, problems)
	require.Equal(t, Answer{Execute: true}, a)
}

// Promise: whatever is said, an answer is taken or has a problem; what is taken
// keeps the plan a DAG within its limits, whose execution ends; and problems
// are texts that can be shown.
func FuzzAnswer(f *testing.F) {
	f.Add(`{"action": "execute"}`)
	f.Add(split(fine + `{"id": "y", "type": "test", "after": ["x"]}`))
	f.Add(split(fine + `{"id": "y", "type": "test", "after": ["y"]}`))
	f.Add(`{"action":"decompose","task":"b","subtasks":[{"id":"p","type":"design","after":[]},{"id":"q","type":"build","after":["p"]},{"id":"r","type":"build","after":["q","p"]}]}`)
	f.Add(`{"action": "decompose", "task": "\u0000", "subtasks": [null, {}]} x`)
	f.Fuzz(func(t *testing.T, text string) {
		p := started(t)
		a, problems := p.Parse(text)
		for _, problem := range problems {
			require.True(t, strings.HasSuffix(problem, "."), problem)
			require.LessOrEqual(t, len(problem), 500)
			require.Equal(t, problem, strings.ToValidUTF8(problem, "?"))
		}
		if len(problems) > 0 {
			require.Equal(t, Answer{}, a)
			return
		}
		if !a.Execute {
			require.True(t, p.Room(a.Task, len(a.Subtasks)))
			require.NotNil(t, Order(a.Subtasks))
			p.Split(a.Task, a.Subtasks)
		}
		seen := map[string]bool{}
		for _, n := range p.Nodes {
			require.False(t, seen[n.ID], n.ID)
			require.NotEmpty(t, n.ID)
			require.NotEqual(t, n.Kind == request.Project, n.Parent != nil)
			seen[n.ID] = true
		}
		o := p.Execute()
		require.LessOrEqual(t, o.Time, o.Work)
		require.Equal(t, len(p.Nodes)-1, o.Subtasks)
	})
}
