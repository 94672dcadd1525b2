package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// Schema is a compiled JSON Schema. It is safe for concurrent use.
type Schema struct{ compiled *jsonschema.Schema }

// maxJSON is the largest text in which Parse looks for JSON, in bytes.
const maxJSON = 1 << 20

// NewSchema compiles a JSON Schema. References within the schema are allowed; references to
// files and URLs are not.
func NewSchema(raw json.RawMessage) (*Schema, error) {
	const name = "merit:schema"
	document, err := decode(raw)
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(nowhere{})
	if err == nil {
		err = compiler.AddResource(name, document)
	}
	var compiled *jsonschema.Schema
	if err == nil {
		compiled, err = compiler.Compile(name)
	}
	if err != nil {
		return nil, &fault.Error{
			Boundary: fault.Config, Kind: fault.Invalid, What: "not a JSON Schema: " + plain(err.Error(), 300),
			Hint: "see json-schema.org for the syntax; references to files and URLs are not followed",
		}
	}
	return &Schema{compiled}, nil
}

// decode reads JSON strictly, with numbers in the form that the schema package needs.
func decode(text []byte) (any, error) {
	if err := strictjson.Check(text); err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(text))
}

// nowhere is a loader that refuses every reference.
type nowhere struct{}

// Load implements jsonschema.URLLoader.
func (nowhere) Load(string) (any, error) { return nil, errors.New("references are not followed") }

// Parse finds the JSON value in a model's text and validates it against the schema. The text
// must be the value, or become it by one of these repairs and no other: taking it out of a
// single code fence, taking the text between its outermost braces or brackets, and removing
// commas before a closing one. Repaired reports whether one was needed. The error is one
// sentence that can be shown to the model.
func (s *Schema) Parse(text string) (value json.RawMessage, repaired bool, err error) {
	if len(text) > maxJSON {
		return nil, false, fmt.Errorf("the answer has %d bytes, more than the %d in which JSON is looked for", len(text), maxJSON)
	}
	text = strings.TrimSpace(text)
	var first error
	for i, candidate := range candidates(text) {
		value, err := decode([]byte(candidate))
		if err != nil {
			if first == nil {
				first = err
			}
			continue
		}
		if err := s.compiled.Validate(value); err != nil {
			return nil, i > 0, errors.New("the JSON does not fit its schema: " + misfit(err))
		}
		return json.RawMessage(candidate), i > 0, nil
	}
	if text == "" {
		return nil, false, errors.New("the answer is empty; JSON is wanted")
	}
	return nil, false, fmt.Errorf("the answer is not JSON: %s", plain(first.Error(), 150))
}

// fence is a code block of Markdown.
var fence = regexp.MustCompile("(?s)^[^`]*```[a-zA-Z]*\\s*\n(.*?)\n\\s*```[^`]*$")

// candidates lists the parts of a text that may be the wanted JSON, the text itself first.
func candidates(text string) []string {
	all := []string{text}
	if block := fence.FindStringSubmatch(text); block != nil {
		all = append(all, strings.TrimSpace(block[1]))
	}
	if from := strings.IndexAny(text, "{["); from >= 0 {
		closing := map[byte]string{'{': "}", '[': "]"}[text[from]]
		if to := strings.LastIndex(text, closing); to > from {
			all = append(all, text[from:to+1])
		}
	}
	for _, c := range all[:len(all):len(all)] {
		if without := uncomma(c); without != c {
			all = append(all, without)
		}
	}
	return all
}

// uncomma removes commas before a closing brace or bracket, which many models write and JSON
// does not allow.
func uncomma(text string) string {
	out := make([]byte, 0, len(text))
	inside := false
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case inside && b == '\\' && i+1 < len(text):
			out = append(out, b)
			i++
		case b == '"':
			inside = !inside
		case !inside && (b == '}' || b == ']'):
			if kept := bytes.TrimRight(out, " \t\r\n"); bytes.HasSuffix(kept, []byte(",")) {
				out = kept[:len(kept)-1]
			}
		}
		out = append(out, text[i])
	}
	return string(out)
}

// misfit describes the first place where a value violates its schema.
func misfit(err error) string {
	var v *jsonschema.ValidationError
	if !errors.As(err, &v) {
		return plain(err.Error(), 200)
	}
	for len(v.Causes) > 0 {
		v = v.Causes[0]
	}
	lines := strings.Split(v.Error(), "\n")
	return plain(strings.TrimPrefix(lines[len(lines)-1], "- "), 200)
}
