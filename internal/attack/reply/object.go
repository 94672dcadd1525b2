package reply

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// Object is a ground truth that is an object: a tool call, or any other.
type Object struct {
	whole json.RawMessage // as the truth has it
	name  string          // of a tool; empty of another object
	args  map[string]json.RawMessage
	keys  [2]string // under which the truth has the name and the arguments
}

// nameKeys and argumentKeys are what data sets call the parts of a tool call.
var (
	nameKeys     = []string{"name", "tool", "tool_name", "function", "function_name", "action", "api", "api_name"}
	argumentKeys = []string{"arguments", "args", "parameters", "params", "input", "kwargs", "action_input", "tool_input"}
)

// depth is how deeply a truth is searched for a tool call.
const depth = 4

// ObjectOf returns the object that a truth is, or nil. A list stands for its first object, and a text
// for the JSON that it holds.
func ObjectOf(truth json.RawMessage) *Object { return objectOf(truth, depth) }

func objectOf(truth json.RawMessage, deep int) *Object {
	trimmed := strings.TrimSpace(string(truth))
	if deep == 0 || trimmed == "" {
		return nil
	}
	switch trimmed[0] {
	case '"':
		var text string
		if strictjson.Unmarshal(truth, &text) == nil && strings.ContainsAny(text, "{[") && json.Valid([]byte(text)) {
			return objectOf(json.RawMessage(text), deep-1)
		}
	case '[':
		var list []json.RawMessage
		if strictjson.Unmarshal(truth, &list) == nil && len(list) > 0 {
			return objectOf(list[0], deep-1)
		}
	case '{':
		return newObject(truth, deep)
	}
	return nil
}

func newObject(truth json.RawMessage, deep int) *Object {
	var fields map[string]json.RawMessage
	if strictjson.Unmarshal(truth, &fields) != nil || len(fields) == 0 {
		return nil
	}
	o := &Object{whole: truth, args: fields}
	for _, name := range nameKeys {
		if strings.HasPrefix(string(fields[name]), "{") { // OpenAI's {"function": {"name": …}}
			return objectOf(fields[name], deep-1)
		}
		if !strings.HasPrefix(string(fields[name]), `"`) {
			continue
		}
		for _, arguments := range argumentKeys {
			if args := object(fields[arguments]); args != nil {
				_ = strictjson.Unmarshal(fields[name], &o.name) // a text
				o.args, o.keys = args, [2]string{name, arguments}
				return o
			}
		}
	}
	return o
}

// object decodes an object, or a text that holds one.
func object(raw json.RawMessage) (fields map[string]json.RawMessage) {
	var text string
	if strings.HasPrefix(string(raw), `"`) && strictjson.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(text)
	}
	if strictjson.Unmarshal(raw, &fields) != nil {
		return nil
	}
	return fields
}

// Named reports whether it is a tool call, and Empty whether it has no values.
func (o *Object) Named() bool { return o.name != "" }

// Name is the name of the tool.
func (o *Object) Name() string { return o.name }

// Empty reports whether it has no values, so that none can be wrong.
func (o *Object) Empty() bool { return len(o.args) == 0 }

// Shapes are the forms of an object in a reply; the last one is a tool call of the message.
var Shapes = []string{"%s", "<tool_call>\n%s\n</tool_call>", "```json\n%s\n```", "<answer>%s</answer>", "<answer>\n%s\n</answer>", "Action: %n\nAction Input: %a", "%n(%k)", "message"}

// In returns the object in a shape, with a damage.
func (o *Object) In(shape string, damage int) (string, []rl.ToolCall) {
	args := o.damaged(damage)
	arguments, _ := json.Marshal(args) // of decoded JSON
	if shape == "message" {
		return "", []rl.ToolCall{{ID: "call_1", Type: "function", Function: rl.FunctionCall{Name: o.name, Arguments: string(arguments)}}}
	}
	whole := arguments
	if o.Named() {
		whole, _ = json.Marshal(o.name)
		whole = []byte(`{"` + o.keys[0] + `": ` + string(whole) + `, "` + o.keys[1] + `": ` + string(arguments) + "}")
	}
	return strings.NewReplacer("%s", string(whole), "%n", o.name, "%a", string(arguments), "%k", keywords(args)).Replace(shape), nil
}

func (o *Object) damaged(damage int) map[string]json.RawMessage {
	if damage == Intact {
		return o.args
	}
	args := map[string]json.RawMessage{}
	for _, key := range slices.Sorted(maps.Keys(o.args)) {
		if damage == Nonsense {
			args[key] = nonsense(o.args[key])
		}
	}
	return args
}

// nonsense returns a wrong value of the type of another one.
func nonsense(value json.RawMessage) json.RawMessage {
	switch {
	case strings.HasPrefix(string(value), `"`):
		return json.RawMessage(`"zyxqv"`)
	case strings.HasPrefix(string(value), "["):
		return json.RawMessage(`["zyxqv"]`)
	case strings.HasPrefix(string(value), "{"):
		return json.RawMessage(`{"zyxqv": 0}`)
	case string(value) == "true":
		return json.RawMessage("false")
	case string(value) == "false":
		return json.RawMessage("true")
	case string(value) == "-86007":
		return json.RawMessage("17")
	}
	return json.RawMessage("-86007")
}

func keywords(args map[string]json.RawMessage) string {
	var list []string
	for _, key := range slices.Sorted(maps.Keys(args)) {
		list = append(list, key+"="+string(args[key]))
	}
	return strings.Join(list, ", ")
}
