package graders

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/merit-rl/merit/internal/base/strictjson"
)

// metrics are those of text_similarity, with the call that computes each.
var metrics = map[string]string{
	"fuzzy_match": "fuzzy_match(%s, %s)", "bleu": "bleu(%s, %s)", "gleu": "gleu(%s, %s)",
	"rouge_1": "rouge(1, %s, %s)", "rouge_2": "rouge(2, %s, %s)", "rouge_3": "rouge(3, %s, %s)", "rouge_4": "rouge(4, %s, %s)",
	"rouge_5": "rouge(5, %s, %s)", "rouge_l": `rouge("l", %s, %s)`,
}

// elsewhere are the metrics that need what a sandbox without network does not have.
var elsewhere = map[string][2]string{
	"cosine": {"it compares embeddings of OpenAI's text-embedding-3-large, which nothing else computes", "use a score_model grader that asks how alike the texts are in meaning, or fuzzy_match or rouge_l, which need no model"},
	"meteor": {"it needs the synonyms of WordNet, 30 MB that Merit does not contain", "use rouge_l or gleu; or a python grader with nltk's meteor_score, and WordNet's files in the folder of the reward"},
}

// mostSource is the largest python grader that the service takes, in bytes.
const mostSource = 256 << 10

// check finds what is wrong with the values of a grader, and reads its input.
func (r *reader) check(g *grader) {
	switch g.Type {
	case "string_check":
		if !slices.Contains([]string{"eq", "ne", "like", "ilike"}, g.Operation) {
			r.problem(under(g.at, "operation"), "use eq, ne, like or ilike", "%q is not an operation", g.Operation)
		}
		r.texts(g)
	case "text_similarity":
		if why, ok := elsewhere[g.Metric]; ok {
			r.problem(under(g.at, "evaluation_metric"), why[1], "%s cannot be imported: %s", g.Metric, why[0])
		} else if metrics[g.Metric] == "" {
			r.problem(under(g.at, "evaluation_metric"), "use fuzzy_match, bleu, gleu, rouge_1 to rouge_5 or rouge_l", "%q is not a metric", g.Metric)
		}
		r.texts(g)
	case "score_model", "label_model":
		r.model(g)
	case "python":
		r.python(g)
	}
}

func (r *reader) texts(g *grader) {
	if strictjson.Unmarshal(g.Input, &g.template) != nil {
		r.problem(under(g.at, "input"), "", "it must be a text, with templates such as {{sample.output_text}}")
	}
	r.templates(under(g.at, "input"), g.template)
	r.templates(under(g.at, "reference"), g.Reference)
}

func (r *reader) model(g *grader) {
	var list []struct {
		Role    string          `json:"role"`
		Type    string          `json:"type"`
		Content json.RawMessage `json:"content"`
	}
	at := under(g.at, "input")
	if strictjson.Unmarshal(g.Input, &list) != nil || len(list) == 0 {
		r.problem(at, "", "it must be a list of messages with role and content")
	}
	for i, m := range list {
		at := fmt.Sprintf("%s[%d]", at, i)
		if !slices.Contains([]string{"user", "assistant", "system", "developer"}, m.Role) {
			r.problem(under(at, "role"), "use system, developer, user or assistant", "%q is not a role", m.Role)
		}
		text := r.content(under(at, "content"), m.Content)
		r.templates(under(at, "content"), text)
		g.messages = append(g.messages, message{strings.Replace(m.Role, "developer", "system", 1), text})
	}
	if g.Type == "label_model" {
		r.labels(g)
	} else if g.Range == nil {
		g.Range = []float64{0, 1}
	} else if len(g.Range) != 2 || g.Range[0] >= g.Range[1] {
		r.problem(under(g.at, "range"), "write it as [0, 1]", "it must have two numbers, the smaller one first")
	}
	if n := g.Sampling.MaxTokens; n != nil && *n < 1 {
		r.problem(under(g.at, "sampling_params.max_completions_tokens"), "", "it must be at least 1, not %d", *n)
	}
}

func (r *reader) labels(g *grader) {
	if len(g.Labels) == 0 {
		r.problem(under(g.at, "labels"), "", "it must have at least one label")
	}
	for i, label := range g.Passing {
		if !slices.Contains(g.Labels, label) {
			r.problem(fmt.Sprintf("%s[%d]", under(g.at, "passing_labels"), i), "use one of "+strings.Join(g.Labels, ", "), "%q is not one of the labels", label)
		}
	}
}

// content returns the text of a message, whose content is a text, a part, or a list of either.
func (r *reader) content(at string, content json.RawMessage) string {
	var text string
	if strictjson.Unmarshal(content, &text) == nil {
		return text
	}
	var part struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if strictjson.Unmarshal(content, &part) == nil {
		if part.Type != "input_text" && part.Type != "output_text" {
			r.problem(at, "describe it in words, or remove the part", "a part of type %q cannot be imported: questions to a model are text", part.Type)
		}
		return part.Text
	}
	var parts []json.RawMessage
	if strictjson.Unmarshal(content, &parts) != nil || len(parts) == 0 {
		r.problem(at, "", "it must be a text, or a list of parts")
	}
	var all []string
	for i, p := range parts {
		all = append(all, r.content(fmt.Sprintf("%s[%d]", at, i), p))
	}
	return strings.Join(all, "\n")
}

// definesGrade matches the function that a python grader must define.
var definesGrade = regexp.MustCompile(`(?m)^(async\s+)?def\s+grade\s*\(|^grade\s*=|^from\s.+\simport\s.*\bgrade\b`)

func (r *reader) python(g *grader) {
	at := under(g.at, "source")
	if len(g.Source) > mostSource {
		r.problem(at, "make it shorter", "it has %d bytes, and the service takes at most %d", len(g.Source), mostSource)
	}
	if !definesGrade.MatchString(g.Source) {
		r.problem(at, "define it: def grade(sample, item)", "it defines no function grade")
	}
	for _, p := range imports(g.Source) {
		if hint := refusedPackages[p]; hint != "" {
			r.problem(at, hint, "it imports %s, whose native code the sandbox does not have", p)
		}
	}
}

// combine checks the formula of a multi grader and translates it to Python.
func (r *reader) combine(f *found, at string) {
	at = under(at, "calculate_output")
	var names []string
	for _, g := range f.parts {
		names = append(names, g.key)
		if !variable.MatchString(g.key) || functions[g.key] != 0 {
			r.problem(g.at, "rename it, here and in calculate_output", "%q cannot be a variable of a formula: it needs letters, digits and _, and must not be a function", g.key)
		}
	}
	if len(names) == 0 {
		return // what is wrong is said
	}
	python, used, err := translate(f.top.Formula, names)
	if err != nil {
		r.problem(at, "it may have numbers, graders, + - * / ^, parentheses, and min, max, abs, floor, ceil, exp, sqrt and log", "%s in %q", err, f.top.Formula)
	}
	for _, g := range f.parts {
		if err == nil && !used[g.key] {
			r.problem(at, "remove the grader, or use it", "the grader %s is not used in %q", g.key, f.top.Formula)
		}
	}
	f.formula = python
}

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Templates: what is between braces, and what may be there.
var (
	braces = regexp.MustCompile(`\{\{(.*?)\}\}`)
	path   = regexp.MustCompile(`^\s*(item|sample)((?:\.[^\s.\[\]{}]+|\[\d+\]|\['[^']*'\]|\["[^"]*"\])+)\s*$`)
	part   = regexp.MustCompile(`\.([^\s.\[\]{}]+)|\[(\d+)\]|\['([^']*)'\]|\["([^"]*)"\]`)
)

// ofSample are the variables of an answer.
var ofSample = []string{"output_text", "output_json", "output_tools", "choices"}

// templates checks the variables of a text.
func (r *reader) templates(at, text string) {
	for _, found := range braces.FindAllStringSubmatch(text, -1) {
		p := path.FindStringSubmatch(found[1])
		if p == nil {
			r.problem(at, "write {{ item.NAME }} or {{ sample.NAME }}, with .NAME or [0] for what is inside", "%q is not a variable", found[0])
			continue
		}
		first := steps(p[2])[0]
		switch {
		case p[1] == "item" || slices.Contains(ofSample, first):
		case first == "output_audio":
			r.problem(at, "grade its transcript as a column of the data", "%q cannot be imported: rows of Merit have no sound", found[0])
		default:
			r.problem(at, "use sample."+strings.Join(ofSample, ", sample."), "%q is not a variable of the answer", found[0])
		}
	}
	if rest := braces.ReplaceAllString(text, ""); strings.Contains(rest, "{{") {
		r.problem(at, "close it with }}", "a {{ has no }}")
	}
}

// steps returns the names and the indexes of a path.
func steps(path string) (all []string) {
	for _, s := range part.FindAllStringSubmatch(path, -1) {
		all = append(all, s[1]+s[2]+s[3]+s[4])
	}
	return all
}
