package graders

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/merit-rl/merit/internal/base/strictjson"
)

// fixtures returns what the reward is tried on, by its name in the folder fixtures: the row of
// the file if it has one; a row whose answer has what each grader compares it with; and a row
// with an empty answer. For graders that ask a model, model.json answers.
func fixtures(f *found) map[string][]byte {
	var rows bytes.Buffer
	row := func(id string, item any, completion map[string]any) {
		line := map[string]any{"id": id, "prompt": []any{map[string]any{"role": "user", "content": "…"}}, "completion": []any{completion}}
		if columns, ok := item.(map[string]any); ok {
			for k, v := range columns {
				if _, taken := line[k]; !taken && k != "messages" {
					line[k] = v
				}
			}
		}
		encoder := json.NewEncoder(&rows)
		encoder.SetEscapeHTML(false)
		_ = encoder.Encode(line) // values of JSON
	}
	if f.sample != nil {
		var item any
		_ = strictjson.Unmarshal(f.item, &item) // the file is valid
		row("request", item, map[string]any{"role": "assistant", "content": *f.sample})
	}
	item, answer := example(f)
	if f.sample == nil {
		row("matches", item, answer)
	} else if own, ok := decoded(f.item); ok {
		item = own
	}
	row("empty", item, map[string]any{"role": "assistant", "content": ""})
	files := map[string][]byte{"rows.jsonl": rows.Bytes()}
	if f.has("score_model", "label_model") {
		files["model.json"] = answers(f)
	}
	return files
}

func decoded(text json.RawMessage) (item map[string]any, ok bool) {
	return item, strictjson.Unmarshal(text, &item) == nil && item != nil
}

// example returns an item with a value for every variable of the templates, and an answer that
// has what a grader compares it with.
func example(f *found) (item, answer map[string]any) {
	var columns, sample any
	filled := func(text string) string {
		return braces.ReplaceAllStringFunc(text, func(braced string) string {
			v := variables(braced)[0]
			if v.namespace == "sample" {
				return ""
			}
			return placed(&columns, v.steps, strings.ReplaceAll(v.steps[len(v.steps)-1], "_", " "))
		})
	}
	for _, g := range f.parts {
		for _, pair := range [][2]string{{g.template, g.Reference}, {g.Reference, g.template}} {
			if v := variables(pair[0]); len(v) == 1 && v[0].namespace == "sample" {
				placed(&sample, v[0].steps, filled(pair[1]))
			}
		}
	}
	for _, g := range f.parts {
		texts := g.texts()
		_ = filled(texts)
		for _, v := range variables(texts) {
			if v.namespace == "sample" {
				placed(&sample, v.steps, "an answer")
			}
		}
		for _, found := range ofItem.FindAllStringSubmatch(g.Source, -1) {
			placed(&columns, []string{found[1] + found[2]}, strings.ReplaceAll(found[1]+found[2], "_", " "))
		}
	}
	item, _ = columns.(map[string]any)
	return item, answered(sample)
}

// texts returns everything in which a grader may have templates.
func (g *grader) texts() string {
	texts := g.template + g.Reference
	for _, m := range g.messages {
		texts += m.text
	}
	return texts
}

// ofItem matches what a python grader reads of the item.
var ofItem = regexp.MustCompile(`\bitem(?:\[["'](\w+)["']\]|\.get\(["'](\w+)["'])`)

// answered is a message of the assistant with what sample says of it.
func answered(sample any) map[string]any {
	fields, _ := sample.(map[string]any)
	message := map[string]any{"role": "assistant", "content": "an answer"}
	if choices, ok := fields["choices"].([]any); ok && len(choices) > 0 {
		if choice, ok := choices[0].(map[string]any); ok {
			if m, ok := choice["message"].(map[string]any); ok {
				for k, v := range m {
					message[k] = v
				}
			}
		}
	}
	if text, ok := fields["output_text"].(string); ok {
		message["content"] = text
	}
	if object := fields["output_json"]; object != nil {
		text, _ := json.Marshal(object) // values of JSON
		message["content"] = string(text)
	}
	if calls, ok := fields["output_tools"].([]any); ok {
		for i, c := range calls {
			call, _ := c.(map[string]any)
			function, _ := call["function"].(map[string]any)
			calls[i] = map[string]any{"id": fmt.Sprintf("call_%d", i), "type": "function", "function": map[string]any{
				"name": or(function["name"], "function"), "arguments": or(function["arguments"], "{}"),
			}}
		}
		message["tool_calls"], message["content"] = calls, ""
	}
	return message
}

func or(value any, otherwise string) any {
	if value == nil {
		return otherwise
	}
	return value
}

type variableOf struct {
	namespace string
	steps     []string
}

// variables returns those of a text, whose templates are valid.
func variables(text string) (all []variableOf) {
	for _, found := range braces.FindAllStringSubmatch(text, -1) {
		p := path.FindStringSubmatch(found[1])
		all = append(all, variableOf{p[1], steps(p[2])})
	}
	return all
}

// placed puts value at a path into *into, making objects and lists on the way, unless something
// is there; it returns the text at the path.
func placed(into *any, steps []string, value string) string {
	if len(steps) == 0 {
		if *into == nil {
			*into = value
		}
		text, _ := (*into).(string)
		return text
	}
	index, err := strconv.Atoi(steps[0])
	if err == nil && index < 100 {
		list, _ := (*into).([]any)
		for len(list) <= index {
			list = append(list, nil)
		}
		*into = list
		return placed(&list[index], steps[1:], value)
	}
	object, ok := (*into).(map[string]any)
	if !ok {
		object = map[string]any{}
		*into = object
	}
	child := object[steps[0]]
	text := placed(&child, steps[1:], value)
	object[steps[0]] = child
	return text
}

// answers are the answers of a model for the fixtures: the best score of each grader, for a
// question that has a text of its messages.
func answers(f *found) []byte {
	type rule struct {
		Contains []string `json:"contains,omitempty"`
		Answer   any      `json:"answer"`
	}
	var rules []rule
	for _, g := range f.parts {
		var result any
		switch {
		case g.Type == "score_model":
			result = g.Range[1]
		case g.Type == "label_model" && len(g.Passing) > 0:
			result = g.Passing[0]
		case g.Type == "label_model":
			result = g.Labels[0]
		default:
			continue
		}
		steps := []any{map[string]any{"description": "fixture", "conclusion": "This answer is from fixtures/model.json."}}
		rules = append(rules, rule{longest(g.messages), map[string]any{"steps": steps, "result": result}})
	}
	text, _ := json.MarshalIndent(rules, "", "  ") // values of JSON
	return append(text, '\n')
}

// longest returns the longest text of messages that has no variable.
func longest(messages []message) []string {
	var most string
	for _, m := range messages {
		for _, text := range braces.Split(m.text, -1) {
			if len(text) > len(most) {
				most = text
			}
		}
	}
	if most == "" {
		return nil
	}
	return []string{most}
}

// configuration grants the questions of the graders, for merit eval -c and as a part of a
// train.yaml.
func configuration(w *Reward, f *found) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# Scores with the graders' model: merit eval -c eval.yaml --data rows.jsonl --out results.jsonl\nrewards:\n  - module: .\n    ask:\n")
	var g *grader
	for _, p := range f.parts {
		if strings.HasSuffix(p.Type, "_model") && g == nil {
			g = p
		} else if strings.HasSuffix(p.Type, "_model") && p.Model != g.Model {
			fmt.Fprintf(&b, "      # %s asked %s; a reward asks one model\n", p.key, strings.Join(strings.Fields(p.Model), " "))
		}
	}
	fmt.Fprintf(&b, "      server:\n        url: https://api.openai.com/v1 # or any server with the same API\n        model: %s\n        key_env: OPENAI_API_KEY\n", strconv.Quote(g.Model))
	if extra := g.Sampling.extra(); len(extra) > 0 {
		fmt.Fprintf(&b, "        extra: {%s}\n", strings.Join(extra, ", "))
	}
	if n := most(f); n > 0 {
		fmt.Fprintf(&b, "        max_tokens_field: max_completion_tokens\n      max_tokens: %d\n", n)
	}
	if t := g.Sampling.Temperature; t != nil {
		fmt.Fprintf(&b, "      temperature: %s\n", number(*t))
	}
	fmt.Fprintf(&b, "      calls: %d\n      cache: answers\n", w.Asks)
	return []byte(b.String())
}

// extra returns the settings for which a configuration of Merit has no key, as YAML.
func (s sampling) extra() (fields []string) {
	if s.Effort != nil {
		fields = append(fields, "reasoning_effort: "+strconv.Quote(*s.Effort))
	}
	if s.TopP != nil {
		fields = append(fields, "top_p: "+number(*s.TopP))
	}
	return fields
}

// most returns the largest limit on the tokens of an answer; 0 if there is none.
func most(f *found) (n int) {
	for _, g := range f.parts {
		if g.Sampling.MaxTokens != nil {
			n = max(n, *g.Sampling.MaxTokens)
		}
	}
	return n
}
