package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/models/chattest"
)

// modelKey is the API key of the scripts' model server.
const modelKey = "sk-merit-test-0123456789"

// modelServer is the server of the scripts' language models, at $MODEL_URL:
// small answers a move that follows from the seed, sevens answers 7, keyed requires $MODEL_KEY,
// fails always fails, apo adds numbers and rewrites prompts, juror answers A: 15 and votes for it,
// grader scores the trajectories in a judge's question by their length, taste by phrases, opinion answers
// graders of OpenAI, and
// assistant speaks Anthropic's API: it lets an agent count files.
func modelServer(t *testing.T) (url string) {
	words := []string{"north", "I go east.", "south", "west"}
	return chattest.New(t, 0, func(c chattest.Call) chattest.Reply {
		if strings.HasSuffix(c.Path, "/models") {
			return chattest.Models("small", "sevens", "keyed", "fails", "apo", "juror", "grader", "taste", "worker", "opinion")
		}
		if strings.Contains(c.Path, "/messages") {
			return assistant(t, c)
		}
		var model string
		var seed int
		c.Field(t, "model", &model)
		c.Field(t, "seed", &seed)
		switch {
		case model == "sevens":
			return chattest.Say("A: 7")
		case model == "apo":
			return adder(t, c)
		case model == "juror":
			return juror(t, c)
		case model == "grader":
			return grader(t, c)
		case model == "taste":
			return taste(t, c)
		case model == "worker":
			return worker(t, c)
		case model == "opinion":
			return opinion(t, c)
		case model == "fails":
			return chattest.Fail(500, "", "out of memory")
		case model == "keyed" && c.Header.Get("Authorization") != "Bearer "+modelKey:
			return chattest.Fail(401, "", "no key, or not "+c.Header.Get("Authorization"))
		}
		return chattest.Say(words[seed%len(words)])
	}).URL
}

// assistant answers in the form of Anthropic's API: it gives a task to another agent, which counts,
// and says what that said. It fails as the API does if its question says so.
func assistant(t *testing.T, c chattest.Call) chattest.Reply {
	if strings.HasSuffix(c.Path, "/count_tokens") {
		return chattest.Reply{Body: `{"input_tokens": 12}`}
	}
	var system string
	var messages []json.RawMessage
	c.Field(t, "system", &system)
	c.Field(t, "messages", &messages)
	last := string(messages[len(messages)-1])
	content, stop := `{"type": "text", "text": "There are 3 files, and nothing else.\nA: 3"}`, "end_turn"
	switch {
	case strings.Contains(last, "overloaded"):
		return chattest.Reply{Status: 529, Header: map[string]string{"Retry-After": "7"}, Body: `{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}`}
	case strings.Contains(last, "1 + 2"):
		content = `{"type": "text", "text": "A: 3"}`
	case strings.HasPrefix(system, "You count"):
		content = `{"type": "text", "text": "3 files"}`
	case strings.Contains(last, "How many files"):
		content, stop = `{"type": "thinking", "thinking": "Another agent can count.", "signature": "c2ln"},
			{"type": "tool_use", "id": "toolu_1", "name": "Task", "input": {"prompt": "Count the files of this folder."}}`, "tool_use"
	}
	return chattest.Reply{Body: `{"id": "msg", "type": "message", "role": "assistant", "model": "assistant", "content": [` + content + `], "stop_reason": "` + stop + `",
		"usage": {"input_tokens": 5, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 7, "output_tokens": 9}}`}
}

// worker solves examples/harbor/log-report with the tool bash, in two calls, and says that it is done.
func worker(t *testing.T, c chattest.Call) chattest.Reply {
	var messages []rl.Message
	c.Field(t, "messages", &messages)
	commands := []string{"head -3 access.log; wc -l access.log", workerScript}
	turns := 0
	for _, m := range messages {
		if m.Role == rl.RoleAssistant {
			turns++
		}
	}
	if turns >= len(commands) {
		return chattest.Say("The report is written, and the log is deleted.")
	}
	call, err := json.Marshal(map[string]any{"name": "bash", "arguments": map[string]string{"command": commands[turns]}})
	if err != nil {
		t.Error(err)
	}
	return chattest.Say("<tool_call>" + string(call) + "</tool_call>")
}

// workerScript is another way to solve the task than its own solution: awk instead of Python.
const workerScript = `grep -v '^#' access.log | awk -F'\t' '
	{ n[$3]++; ms[$3] += $5; if ($4 >= 500) errors++ }
	END {
		for (p in n) if (slow == "" || ms[p] / n[p] > ms[slow] / n[slow]) slow = p
		printf "{\"requests\": %d, \"errors\": %d, \"slowest\": \"%s\", \"by_path\": {", NR, errors, slow
		for (p in n) printf "%s\"%s\": %d", (k++ ? ", " : ""), p, n[p]
		print "}}"
	}' > report.json && rm access.log && jq . report.json`

// adder adds two numbers, and puts the sum after A: only if its prompt asks for that. As the editor,
// it adds this request to a prompt that lacks it.
func adder(t *testing.T, c chattest.Call) chattest.Reply {
	var messages []rl.Message
	c.Field(t, "messages", &messages)
	system, user := messages[0].Content.Text(), messages[1].Content.Text()
	switch {
	case strings.Contains(user, "<critique>"):
		return priced(`{"prompt": "Answer the question. Write the number behind A: on a line of its own."}`)
	case strings.Contains(user, "<example>"):
		return priced("It does not say that the number has to stand behind A:.")
	case strings.HasPrefix(system, "You are an expert"):
		return priced(`{"prompt": "Please reply."}`)
	}
	var a, b int
	if _, err := fmt.Sscanf(user, "How much is %d plus %d?", &a, &b); err != nil {
		return chattest.Fail(400, "", "what was asked?")
	}
	if strings.Contains(system, "behind A:") {
		return priced(fmt.Sprintf("A: %d", a+b))
	}
	return priced(fmt.Sprintf("It is %d.", a+b))
}

// priced returns a reply with a text and with prompt tokens, which cost something.
func priced(text string) chattest.Reply { return chattest.Answer{Text: text, Prompt: 20}.Reply() }

// juror answers A: 15, and votes for it if it is among the answers.
func juror(t *testing.T, c chattest.Call) chattest.Reply {
	var messages []rl.Message
	c.Field(t, "messages", &messages)
	asked := messages[len(messages)-1].Content.Text()
	if !strings.Contains(asked, "reply RESTART") {
		return chattest.Say("A: 15")
	}
	before, _, found := strings.Cut(asked, "\">\"A: 15\"")
	if !found {
		return chattest.Say("I see no good one.")
	}
	return chattest.Say("Let me see.\nVOTE " + before[strings.LastIndex(before, "\"")+1:])
}

// asked is a trajectory in a question for a judge.
var asked = regexp.MustCompile(`(?s)<trajectory id="(\w+)">(.*?)</trajectory>`)

// grader scores the trajectories in a question by their length.
func grader(t *testing.T, c chattest.Call) chattest.Reply {
	var messages []rl.Message
	c.Field(t, "messages", &messages)
	var scores []string
	for _, m := range asked.FindAllStringSubmatch(messages[len(messages)-1].Content.Text(), -1) {
		scores = append(scores, fmt.Sprintf(`%q: {"score": %.3f}`, m[1], min(float64(len(m[2]))/1000, 1)))
	}
	return chattest.Answer{Text: "{" + strings.Join(scores, ", ") + "}", Prompt: 100}.Reply()
}

// stale and useful are phrases of examples/replies that cost and earn points.
var (
	stale  = []string{"very important to us", "terms and conditions", "Are you sure", "complete file again", "in due course", "cannot be answered"}
	useful = []string{"at no cost", "tomorrow noon", "simply reply"}
)

// taste scores the trajectories in a question by their phrases.
func taste(t *testing.T, c chattest.Call) chattest.Reply {
	var messages []rl.Message
	c.Field(t, "messages", &messages)
	var scores []string
	for _, m := range asked.FindAllStringSubmatch(messages[len(messages)-1].Content.Text(), -1) {
		points := 8
		for _, phrase := range stale {
			points -= 2 * strings.Count(m[2], phrase)
		}
		for _, phrase := range useful {
			points += strings.Count(m[2], phrase)
		}
		scores = append(scores, fmt.Sprintf(`%q: {"explanation": "By phrases.", "score": %.2f}`, m[1], float64(max(points, 0))/20))
	}
	return chattest.Say("{" + strings.Join(scores, ", ") + "}")
}

// opinion answers the questions of OpenAI's graders in the form that they ask for: a number is the share of the
// reference's words in the summary, and one of several labels is the first that occurs in the question. It
// refuses, overstates or answers with prose what asks for that.
func opinion(t *testing.T, c chattest.Call) chattest.Reply {
	var messages []rl.Message
	var format struct {
		Schema struct {
			Schema struct {
				Properties struct {
					Result struct {
						Type string   `json:"type"`
						Enum []string `json:"enum"`
					} `json:"result"`
				} `json:"properties"`
			} `json:"schema"`
		} `json:"json_schema"`
	}
	c.Field(t, "messages", &messages)
	c.Field(t, "response_format", &format)
	question := messages[1].Content.Text() // behind it may be an answer that was of no use
	reference, summary, _ := strings.Cut(strings.TrimPrefix(question, "Reference: "), "\n\nSummary: ")
	switch {
	case strings.Contains(summary, "(refused)"):
		return chattest.Reply{Body: `{"choices": [{"message": {"role": "assistant", "refusal": "I cannot judge this."}, "finish_reason": "stop"}]}`}
	case strings.Contains(summary, "(prose)"):
		return chattest.Say("It is a good one.")
	case strings.Contains(summary, "(lost)"):
		return chattest.Fail(500, "", "out of memory")
	case strings.Contains(summary, "(praised)"):
		return judged("7", "It has everything.")
	}
	if result := format.Schema.Schema.Properties.Result; result.Type == "string" {
		for _, label := range result.Enum {
			if strings.Contains(question, label) {
				return judged(`"`+label+`"`, "It says so.")
			}
		}
		return judged(`"`+result.Enum[len(result.Enum)-1]+`"`, "It says nothing.")
	}
	found, words := 0, strings.Fields(reference)
	for _, word := range words {
		found += min(strings.Count(summary, word), 1)
	}
	return judged(fmt.Sprint(float64(found)/float64(len(words))), fmt.Sprintf("%d of %d words.", found, len(words)))
}

// judged is an answer in the format of OpenAI's graders.
func judged(result, conclusion string) chattest.Reply {
	return chattest.Say(fmt.Sprintf(`{"steps": [{"description": "words", "conclusion": %q}], "result": %s}`, conclusion, result))
}
