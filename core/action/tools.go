package action

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/fault"
)

// Bounds of an environment's tools.
const (
	maxTools    = 1 << 10
	maxToolText = 1 << 20 // bytes of all definitions
	maxName     = 256     // bytes
)

// tools are what an environment lets a model call.
type tools struct {
	arguments map[string]*schema // by name; nil: the tool takes none
	allowed   string             // the names, for sentences
}

// readTools reads OpenAI's tool definitions, which an environment wrote, and
// returns every problem. An empty list is nil: the environment has no tools.
func readTools(definitions json.RawMessage) (*tools, []error) {
	var problems []error
	wrong := func(where, format string, args ...any) {
		problems = append(problems, &fault.Error{
			Boundary: fault.Plugin, Kind: fault.Protocol, Where: where, What: fmt.Sprintf(format, args...),
			Hint: "report it as a bug of the environment: tools must be a list of OpenAI tool definitions",
		})
	}
	if !utf8.Valid(definitions) {
		wrong("tools", "is not UTF-8")
		return nil, problems
	}
	d := decode(string(definitions), maxToolText)
	if d.err == nil && !blank(string(definitions)[len(d.text):]) {
		d.err = fmt.Errorf("something follows the list")
	}
	if d.err != nil {
		wrong("tools", "not valid JSON: %v", d.err)
		return nil, problems
	}
	items, ok := d.value.([]any)
	if !ok || len(items) > maxTools {
		wrong("tools", "not a list of at most %d tools", maxTools)
		return nil, problems
	}
	t := &tools{arguments: map[string]*schema{}}
	var names []string
	for i, item := range items {
		at := fmt.Sprintf("tools[%d].function", i)
		function, _ := descend(item, []string{"function"})
		object, _ := function.(map[string]any)
		name, _ := object["name"].(string)
		if _, twice := t.arguments[name]; name == "" || len(name) > maxName || twice {
			wrong(at+".name", "%s is not a string of 1 to %d bytes, or occurs twice", quote(name), maxName)
			continue
		}
		arguments, err := parameters(object)
		if err != nil {
			wrong(at+".parameters", "%v", err)
		}
		t.arguments[name], names = arguments, append(names, name)
	}
	if t.allowed = list(names); len(items) == 0 {
		return nil, nil
	}
	return t, problems
}

// parameters compiles the schema of a function's arguments.
func parameters(function map[string]any) (*schema, error) {
	document, ok := function["parameters"]
	if !ok {
		return nil, nil
	}
	if object, is := document.(map[string]any); is && len(object) == 0 {
		return nil, nil
	}
	return compile(document)
}

// check returns what is wrong with a call of the function called name, or "".
func (t *tools) check(name string, arguments map[string]any) string {
	s, ok := t.arguments[name]
	switch {
	case !ok:
		return noTool(name, t.allowed)
	case s == nil && len(arguments) > 0:
		return noArguments(name)
	case s == nil:
		return ""
	}
	if problem := s.check(arguments); problem != "" {
		return fmt.Sprintf("The arguments of %s are invalid: %s.", quote(name), problem)
	}
	return ""
}
