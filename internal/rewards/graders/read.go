package graders

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/jsonspan"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// grader is one of OpenAI's graders; its type decides which fields it has. The source is
// types/graders of the published client openai 3.57.0 and OpenAI's guide to graders.
type grader struct {
	Type      string          `json:"type"`
	Name      string          `json:"name"`
	Operation string          `json:"operation"`
	Input     json.RawMessage `json:"input"` // a template, or the messages to a model
	Reference string          `json:"reference"`
	Metric    string          `json:"evaluation_metric"`
	Model     string          `json:"model"`
	Range     []float64       `json:"range"`
	Sampling  sampling        `json:"sampling_params"`
	Labels    []string        `json:"labels"`
	Passing   []string        `json:"passing_labels"`
	Source    string          `json:"source"`
	ImageTag  string          `json:"image_tag"`
	Threshold *float64        `json:"pass_threshold"`
	ID        string          `json:"id"` // of a criterion of an eval that was retrieved
	Graders   json.RawMessage `json:"graders"`
	Formula   string          `json:"calculate_output"`

	key      string    // its variable in a formula, or its metric
	at       string    // its place in the file
	template string    // input, if it is a text
	messages []message // input, if it is a list
}

// sampling are the settings of a grader's model.
type sampling struct {
	Seed        *int64   `json:"seed"`
	Temperature *float64 `json:"temperature"`
	TopP        *float64 `json:"top_p"`
	MaxTokens   *int     `json:"max_completions_tokens"`
	Effort      *string  `json:"reasoning_effort"`
}

// message is a message to a grader's model, with templates.
type message struct{ role, text string }

// fields has the fields of each type of grader: those that it needs, and those that it may have.
var fields = map[string]struct{ needs, may []string }{
	"string_check":    {[]string{"operation", "input", "reference"}, nil},
	"text_similarity": {[]string{"evaluation_metric", "input", "reference"}, nil},
	"score_model":     {[]string{"model", "input"}, []string{"range", "sampling_params"}},
	"label_model":     {[]string{"model", "input", "labels", "passing_labels"}, []string{"sampling_params"}},
	"python":          {[]string{"source"}, []string{"image_tag"}},
	"multi":           {[]string{"graders", "calculate_output"}, nil},
}

// always are the fields that every grader may have.
var always = []string{"type", "name", "id", "pass_threshold"}

// types returns the types of graders in order.
func types() []string {
	var names []string
	for name := range fields {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// found is what a file contains.
type found struct {
	name    string
	top     *grader   // nil for an eval
	parts   []*grader // the graders that score: top itself, those of a multi, the criteria of an eval
	item    json.RawMessage
	sample  *string // an answer that the file has, to try the grader on
	formula string  // in Python
}

// reader collects the problems of a file.
type reader struct {
	file     string
	problems []error
}

func (r *reader) problem(at, hint, format string, values ...any) {
	if hint == "" {
		hint = "correct the file; docs/openai-graders.md has what each grader needs"
	}
	r.problems = append(r.problems, &fault.Error{
		Boundary: fault.Data, Kind: fault.Invalid, Where: strings.TrimSuffix(r.file+": "+at, ": "), What: fmt.Sprintf(format, values...), Hint: hint,
	})
}

// read finds graders in one of the forms in which they are written: the grader itself, the body
// of a request to run or validate one, a fine-tuning job, an eval.
func (r *reader) read(text []byte) *found {
	var all struct {
		Type     string          `json:"type"`
		Name     string          `json:"name"`
		Grader   json.RawMessage `json:"grader"`
		Item     json.RawMessage `json:"item"`
		Sample   *string         `json:"model_sample"`
		Criteria json.RawMessage `json:"testing_criteria"`
		Method   struct {
			Reinforcement struct {
				Grader json.RawMessage `json:"grader"`
			} `json:"reinforcement"`
		} `json:"method"`
	}
	if err := strictjson.Unmarshal(text, &all); err != nil {
		r.problem("", "the file is one JSON object: a grader, a request that runs one, a fine-tuning job or an eval", "%s", err)
		return nil
	}
	f := &found{name: all.Name, item: all.Item, sample: all.Sample}
	switch job := all.Method.Reinforcement.Grader; {
	case all.Criteria != nil:
		r.criteria(f, all.Criteria)
	case all.Grader != nil:
		r.one(f, "grader", all.Grader)
	case job != nil:
		r.one(f, "method.reinforcement.grader", job)
	case all.Type != "":
		r.one(f, "", text)
	default:
		r.problem("", "name the file of a grader", "it has no grader: neither type, grader, method.reinforcement.grader nor testing_criteria")
	}
	return f
}

// one reads the grader of a reward, and the graders in it if it is a multi.
func (r *reader) one(f *found, at string, text []byte) {
	f.top = r.grader(at, text)
	if f.top == nil {
		return
	}
	if f.top.Name != "" {
		f.name = f.top.Name
	}
	f.parts = []*grader{f.top}
	if f.top.Type == "multi" {
		f.parts = r.several(under(at, "graders"), f.top.Graders)
		r.combine(f, at)
	} else if f.top.key = f.top.Name; f.top.key == "" {
		f.top.key = f.top.Type
	}
}

// criteria reads those of an eval.
func (r *reader) criteria(f *found, text []byte) {
	f.parts = r.several("testing_criteria", text)
	for _, g := range f.parts {
		if g.Threshold == nil && g.Type != "string_check" && g.Type != "label_model" {
			r.problem(g.at, "add pass_threshold, the least score that passes", "pass_threshold is missing, so nothing says which scores pass")
		}
	}
}

func under(at, name string) string { return strings.TrimPrefix(at+"."+name, ".") }

// several reads an object of graders, or a list, as the guide's older examples have it, or one
// grader alone, as the types of the published client have it.
func (r *reader) several(at string, text []byte) (all []*grader) {
	add := func(key, at string, text []byte) {
		if g := r.grader(at, text); g != nil {
			r.called(g, key, all)
			all = append(all, g)
		}
	}
	switch kind := firstByte(text); kind {
	case '{':
		members := jsonspan.Members(nil, text)
		isOne := slices.ContainsFunc(members, func(m jsonspan.Member) bool {
			return string(text[m.KeyStart:m.KeyEnd]) == `"type"` && text[m.ValueStart] == '"'
		})
		if isOne {
			add("", at, text)
			break
		}
		for _, m := range members {
			var key string
			_ = strictjson.Unmarshal(text[m.KeyStart:m.KeyEnd], &key) // the text is valid
			add(key, under(at, key), text[m.ValueStart:m.End])
		}
	case '[':
		elements, _ := jsonspan.Elements(text, 1000)
		for i, e := range elements {
			add("", fmt.Sprintf("%s[%d]", at, i), e)
		}
	}
	if len(all) == 0 && len(r.problems) == 0 {
		r.problem(at, "", "it must have at least one grader, and at most 1000")
	}
	return all
}

// called sets the key of a grader that is one of several, besides those that were read before.
func (r *reader) called(g *grader, key string, before []*grader) {
	if g.key = key; key == "" {
		g.key = g.Name
	}
	if g.Type == "multi" {
		r.problem(g.at, "put its graders into the outer one, and its formula in parentheses into calculate_output", "a multi grader cannot contain another one, nor can an eval")
	}
	if g.key == "" {
		r.problem(g.at, "give it a name", "name is missing, and nothing else names its score")
	} else if slices.ContainsFunc(before, func(o *grader) bool { return o.key == g.key }) {
		r.problem(g.at, "rename one of them", "two graders are called %q", g.key)
	}
}

func firstByte(text []byte) byte {
	if len(text) == 0 {
		return 0
	}
	return text[0]
}

// grader reads one grader and checks its fields; nil if it cannot be read.
func (r *reader) grader(at string, text []byte) *grader {
	var typed struct {
		Type string `json:"type"`
	}
	if err := strictjson.Unmarshal(text, &typed); err != nil {
		r.problem(at, "", "%s", err)
		return nil
	}
	has, ok := fields[typed.Type]
	if !ok {
		r.problem(under(at, "type"), "use one of "+strings.Join(types(), ", "), "%q is not a grader that can be imported", typed.Type)
		return nil
	}
	g := &grader{at: at}
	before := len(r.problems)
	for _, m := range jsonspan.Members(nil, text) {
		var key string
		_ = strictjson.Unmarshal(text[m.KeyStart:m.KeyEnd], &key) // the text is valid
		if !slices.Contains(always, key) && !slices.Contains(has.needs, key) && !slices.Contains(has.may, key) {
			r.problem(under(at, key), "remove it, or correct its name; the fields are "+strings.Join(append(has.needs[:len(has.needs):len(has.needs)], has.may...), ", "), "%s is not a field of a %s grader", key, typed.Type)
		}
		has.needs = slices.DeleteFunc(slices.Clone(has.needs), func(name string) bool { return name == key })
	}
	for _, name := range has.needs {
		r.problem(under(at, name), "", "it is missing, and a %s grader needs it", typed.Type)
	}
	if len(r.problems) > before {
		return nil
	}
	if err := strictjson.UnmarshalKnown(text, g); err != nil {
		r.problem(at, "", "%s", err)
		return nil
	}
	r.check(g)
	return g
}
