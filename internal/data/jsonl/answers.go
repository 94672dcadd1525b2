package jsonl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/jsonspan"
)

// layout describes a kind of row that another tool writes, and where it stores an
// answer.
type layout struct {
	what       string
	has        []string // the columns that identify it
	completion []string // paths to its answer, in order of preference
	lists      []string // paths to lists of answers
	prompt     []string
	truth      []string
	convert    string // Python expression over rows that yields rows for Merit
	hint       string // used if no command helps
}

// places lists the positions of an answer within an element of a list of answers.
var places = []string{"message", "text", "generated_text", "content", ""}

const (
	ofGemini    = `{**r, 'messages': [{'role': c.get('role', 'user'), 'content': ''.join(p['text'] for p in c['parts'])} for c in r['contents']]} for r in rows`
	ofResponses = `{**r, 'completion': ''.join(c['text'] for o in r['output'] if o['type'] == 'message' for c in o['content'] if c['type'] == 'output_text')} for r in rows`
	ofCandidate = `{**r, 'id': f'{n}-{i}', 'completion': ''.join(p['text'] for p in c['content']['parts'])} for n, r in enumerate(rows) for i, c in enumerate(r['response']['candidates'])`
	unanswered  = "call the model first, and add its answer as a column named completion"
)

// layouts are tried in this order.
var layouts = []layout{
	{what: "a request of Gemini's Batch API and its result", has: []string{"request", "response"}, convert: ofCandidate},
	{what: "a result of OpenAI's Batch API", has: []string{"custom_id", "response"}, lists: []string{"response.body.choices"}, completion: []string{"response.body.output"}, hint: "its request failed, or its answer is not a message; send the request again"},
	{what: "a result of Anthropic's Batch API", has: []string{"custom_id", "result"}, completion: []string{"result.message"}, hint: "its request failed; send it again"},
	{what: "a request of a Batch API", has: []string{"custom_id", "body"}, hint: "score the file of its results, not that of the requests"},
	{what: "a completion object of OpenAI's API", has: []string{"choices"}, lists: []string{"choices"}},
	{what: "a response object of OpenAI's Responses API", has: []string{"output", "object"}, completion: []string{"output"}, convert: ofResponses},
	{
		what: "a sample of lm-evaluation-harness", has: []string{"doc", "resps"}, lists: []string{"resps.0"}, completion: []string{"filtered_resps.0"},
		prompt: []string{"arguments.gen_args_0.arg_0", "arguments.0.0", "doc.question", "doc.prompt"}, truth: []string{"target"},
		hint: "its task compares probabilities, so the model generated no answer",
	},
	{what: "a conversation in Gemini's format", has: []string{"contents"}, convert: ofGemini},
	{what: "a row of an OpenAI eval", has: []string{"item", "sample"}, completion: []string{"sample.output_text", "sample.choices.0.message"}, hint: unanswered},
	{what: "a request that runs an OpenAI grader", has: []string{"item", "model_sample"}, completion: []string{"model_sample"}},
	{what: "a row with a list of answers", has: []string{"generations"}, lists: []string{"generations"}},
	{what: "a row with a list of answers", has: []string{"completions"}, lists: []string{"completions"}},
	{what: "a row with a list of answers", has: []string{"responses"}, lists: []string{"responses"}},
	{what: "a row with a list of answers", has: []string{"outputs"}, lists: []string{"outputs"}},
	{what: "a row with a list of answers", has: []string{"samples"}, lists: []string{"samples"}},
	{what: "a task of verl without an answer", has: []string{namePrompt, "reward_model"}, hint: unanswered},
	{what: "one object around all rows", has: []string{"rows"}, convert: `x.get('row', x) for r in rows for x in r['rows']`},
	{what: "one object around all rows", has: []string{"data"}, convert: `x for r in rows for x in r['data']`},
	{what: "one object around all rows", has: []string{"examples"}, convert: `x for r in rows for x in r['examples']`},
	{what: "one object around all rows", has: []string{"instances"}, convert: `x for r in rows for x in r['instances']`},
}

// converted returns a command that converts FILE with a Python generator expression over
// its rows.
func converted(generator string) string {
	return `python3 -c "import json, sys; rows = map(json.loads, sys.stdin); [print(json.dumps(x)) for x in (` + generator + `)]" < FILE > FILE.jsonl`
}

// foreignRow returns an error that names the tool that wrote a row without messages, and how
// to convert it; nil if the layout is unknown.
func (r *Reader) foreignRow(text []byte) *fault.Error {
	columns := Line{Text: text}.Columns()
	members := jsonspan.Members(nil, text)
	for _, l := range layouts {
		if !l.is(columns) {
			continue
		}
		if hint := l.advice(text, members); hint != "" {
			return &fault.Error{
				Boundary: fault.Data, Kind: fault.Invalid, Hint: named(hint, r.name),
				What: "this is " + l.what + "; a row with messages, or with prompt and completion, is expected",
			}
		}
	}
	return nil
}

// answered reports whether rows of the layout contain an answer.
func (l *layout) answered() bool { return l.lists != nil || l.completion != nil || l.convert != "" }

// is reports whether a row with these columns may have the layout. A row with a column
// for answers does not have a layout without answers.
func (l *layout) is(columns []string) bool {
	if !l.answered() && first(usualCompletion, columns) != noColumn {
		return false
	}
	return !slices.ContainsFunc(l.has, func(name string) bool { return !slices.Contains(columns, name) })
}

// advice returns how to convert a row of this layout; empty if the row only has
// columns of the same names.
func (l *layout) advice(text []byte, members []jsonspan.Member) string {
	for _, path := range l.lists {
		answers, n := elements(lookup(text, members, path))
		if n == 0 {
			continue
		}
		in := inside(answers[0])
		switch {
		case in == "-":
		case n > 1:
			return "write one row per answer: " + converted(eachAnswer(path, in))
		default:
			return "to use the first answer of each row, " + l.mapped(strings.TrimSuffix(path+".0."+in, "."), text, members)
		}
	}
	for _, path := range l.completion {
		if speaks(lookup(text, members, path)) {
			return l.mapped(path, text, members)
		}
	}
	if l.convert != "" && l.holdsRows(text, members) {
		return "convert each row: " + converted(l.convert)
	}
	return l.hint
}

// holdsRows reports whether the column that identifies a layout is a list of objects, or the
// layout does not need one.
func (l *layout) holdsRows(text []byte, members []jsonspan.Member) bool {
	if len(l.has) > 1 {
		return true
	}
	inner, n := elements(lookup(text, members, l.has[0]))
	return n > 0 && isObject(inner[0])
}

// mapped returns the column map that takes the answer from completion.
func (l *layout) mapped(completion string, text []byte, members []jsonspan.Member) string {
	var parts []string
	for _, path := range append(l.prompt, usualPrompt...) {
		if value := lookup(text, members, path); len(value) > 0 && (value[0] == '"' || speaks(value)) {
			parts = append(parts, namePrompt+"="+path)
			break
		}
	}
	parts = append(parts, nameCompletion+"="+completion)
	for _, path := range append(l.truth, usualTruth...) {
		if path != nameTruth && lookup(text, members, path) != nil {
			parts = append(parts, nameTruth+"="+path)
			break
		}
	}
	return "map its columns: --map " + strings.Join(parts, ",")
}

// eachAnswer returns a Python generator expression of one row for each element of the
// list at path; in is the position of the answer in an element.
func eachAnswer(path, in string) string {
	return fmt.Sprintf(`{'group': str(n), **r, 'id': f'{n}-{i}', 'completion': c%s} for n, r in enumerate(rows) for i, c in enumerate(r%s)`, subscripts(in), subscripts(path))
}

// subscripts returns a path as Python subscripts.
func subscripts(path string) (code string) {
	for _, name := range strings.Split(path, ".") {
		if _, err := strconv.Atoi(name); err == nil {
			code += "[" + name + "]"
		} else if name != "" {
			code += "['" + name + "']"
		}
	}
	return code
}

// inside returns the position of the answer in an element of a list of answers; "-" if
// there is none.
func inside(answer []byte) string {
	for _, in := range places {
		value := answer
		if in != "" {
			value = below(answer, in)
		}
		if speaks(value) {
			return in
		}
	}
	return "-"
}

// speaks reports whether a value can be a completion: text, a message, or a list of
// messages.
func speaks(value []byte) bool {
	if len(value) == 0 {
		return false
	}
	role := func(turn []byte) bool { return turn[0] == '{' && below(turn, "role") != nil }
	switch value[0] {
	case '"':
		return true
	case '{':
		return role(value)
	case '[':
		turns, n := elements(value)
		return n > 0 && !slices.ContainsFunc(turns, func(turn []byte) bool { return !role(turn) })
	}
	return false
}

// elements returns the elements of a list; none for anything else.
func elements(value []byte) ([][]byte, int) {
	if len(value) == 0 || value[0] != '[' {
		return nil, 0
	}
	return jsonspan.Elements(value, len(value))
}

// Hints for lines that are almost JSON.
const (
	byNull   = `write null in its place: python3 -c "import json, sys; [print(json.dumps(json.loads(l, parse_constant=lambda _: None))) for l in sys.stdin if l.strip()]" < FILE > FILE.jsonl`
	byPython = `write JSON: python3 -c "import ast, json, sys; [print(json.dumps(ast.literal_eval(l))) for l in sys.stdin if l.strip()]" < FILE > FILE.jsonl`
	byReturn = `end each line with a line feed: tr '\r' '\n' < FILE > FILE.jsonl`
	bySplit  = `write one object per line: python3 -c "import json, sys; d = json.JSONDecoder(); t = sys.stdin.read().strip(); exec('while t: x, i = d.raw_decode(t); print(json.dumps(x)); t = t[i:].strip().lstrip(\',\').strip()')" < FILE > FILE.jsonl`
	byLatin  = "write it as UTF-8; if it is Latin-1: iconv -f LATIN1 -t UTF-8 FILE > FILE.jsonl"
	byInner  = `write the objects themselves: python3 -c "import json, sys; [print(json.dumps(json.loads(json.loads(l)))) for l in sys.stdin if l.strip()]" < FILE > FILE.jsonl`
)

// nearlyJSON returns an error for a line that is almost a JSON object, with a hint; nil if it
// is nothing known.
func (r *Reader) nearlyJSON(text []byte) *fault.Error {
	what, hint := "", ""
	switch bare := unspelled(text); {
	case json.Valid(text):
		if inner := unquoted(text); text[0] == '"' && isObject(inner) {
			what, hint = "the line is a JSON string that contains JSON, not an object", byInner
		}
	case bytes.HasPrefix(text, []byte("{'")), slices.Contains(bare, "True"), slices.Contains(bare, "False"), slices.Contains(bare, "None"):
		what, hint = "the line is a printed Python dict, not JSON", byPython
	case slices.Contains(bare, "NaN"), slices.Contains(bare, "Infinity"):
		what, hint = "the line contains NaN or Infinity, which are not JSON (Python's json.dumps writes them)", byNull
	case severalObjects(text) && bytes.IndexByte(text, '\r') >= 0:
		what, hint = "the lines end with carriage returns only", byReturn
	case severalObjects(text):
		what, hint = "the line has text after its object", bySplit
	}
	if what == "" {
		return nil
	}
	return &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, What: what, Hint: named(hint, r.name)}
}

// severalObjects reports whether a line begins with an object but does not end with
// it.
func severalObjects(text []byte) bool {
	var first json.RawMessage
	return text[0] == '{' && json.NewDecoder(bytes.NewReader(text)).Decode(&first) == nil && len(first) < len(text)
}

// unspelled returns the words outside of strings in a line that is almost JSON.
func unspelled(text []byte) (words []string) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c >= 'A' && c <= 'Z'):
			from := i
			for i < len(text) && (text[i]|0x20 >= 'a' && text[i]|0x20 <= 'z') {
				i++
			}
			words = append(words, string(text[from:i]))
			i--
		}
	}
	return words
}
