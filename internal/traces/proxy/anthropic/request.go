package anthropic

import (
	"cmp"
	"encoding/json"
	"regexp"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/traces/proxy/dialect"
)

// API is the call that the package reads. messages/count_tokens and messages/batches are
// others, and sample nothing that an agent waits for.
func API() dialect.API {
	return dialect.API{Path: "messages", Form: "Anthropic's", Last: `"message_stop"`, Request: readRequest, Answer: readAnswer}
}

// turn is a message of a request.
type turn struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// readRequest reads the body of a call.
func readRequest(body []byte) (dialect.Request, error) {
	q, take, err := dialect.Fields(body)
	if err != nil {
		return q, err
	}
	q.Tools = tools(q.Tools)
	q.Session = session(q.Settings["metadata"])
	var turns []turn
	m, err := system(take("system"), &q.Unknown)
	err = cmp.Or(err, strictjson.Unmarshal(take("messages"), &turns))
	for i := range turns {
		var wrong error
		m, wrong = turns[i].onto(m, &q.Unknown)
		err = cmp.Or(err, wrong)
	}
	q.Prompts = [][]rl.Message{m}
	return q, err
}

// system returns the system prompt as a message, if there is one.
func system(raw json.RawMessage, unknown *dialect.Unknown) ([]rl.Message, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	m := rl.Message{Role: rl.RoleSystem}
	if raw[0] == '[' {
		if _, err := readBlocks(raw, unknown); err != nil {
			return nil, err
		}
	}
	if err := m.Content.UnmarshalJSON(raw); err != nil {
		return nil, err
	}
	return []rl.Message{m}, nil
}

// onto appends a message to a conversation: several messages if it has results of tools.
func (t *turn) onto(m []rl.Message, unknown *dialect.Unknown) ([]rl.Message, error) {
	var text string
	if strictjson.Unmarshal(t.Content, &text) == nil {
		return append(m, rl.Message{Role: t.Role, Content: rl.Text(text)}), nil
	}
	blocks, err := readBlocks(t.Content, unknown)
	if err != nil {
		return m, err
	}
	if t.Role == rl.RoleAssistant {
		return append(m, assistant(blocks)), nil
	}
	from := 0
	for i := range blocks {
		if blocks[i].Type != "tool_result" {
			continue
		}
		m = append(t.rest(m, blocks[from:i]), blocks[i].result(unknown))
		from = i + 1
	}
	if len(blocks) == 0 {
		return append(m, t.message(t.Content)), nil
	}
	return t.rest(m, blocks[from:]), nil
}

// rest appends the blocks between results of tools as a message, in the form in which
// they came.
func (t *turn) rest(m []rl.Message, blocks []block) []rl.Message {
	if len(blocks) == 0 {
		return m
	}
	return append(m, t.message(list(blocks)))
}

func (t *turn) message(parts json.RawMessage) rl.Message {
	m := rl.Message{Role: t.Role}
	_ = m.Content.UnmarshalJSON(parts) // it was read before
	return m
}

// assistant returns what a model said before.
func assistant(blocks []block) rl.Message {
	s := sorted(blocks)
	m := rl.Message{Role: rl.RoleAssistant, Content: content(s.said), ToolCalls: s.calls}
	if fields := s.fields(); fields != nil {
		m.More = &rl.More{Fields: fields}
	}
	return m
}

// result returns a tool_result block as a message of a tool.
func (b *block) result(unknown *dialect.Unknown) rl.Message {
	m := rl.Message{Role: rl.RoleTool, ToolCallID: b.ToolUseID}
	if len(b.Content) > 0 && b.Content[0] == '[' {
		_, _ = readBlocks(b.Content, unknown) // to count them
	}
	if len(b.Content) > 0 && m.Content.UnmarshalJSON(b.Content) != nil {
		m.Content = rl.Text(string(b.Content)) // another form is kept as its JSON
	}
	var fields []rl.Field
	for _, f := range []rl.Field{{Name: "is_error", Value: b.IsError}, {Name: "cache_control", Value: b.Cache}} {
		if len(f.Value) > 0 {
			fields = append(fields, f)
		}
	}
	if fields != nil {
		m.More = &rl.More{Fields: fields}
	}
	return m
}

// tools returns the offered tools in OpenAI's form. Tools that the server runs, and tools
// of which the API knows the schema, stay as they came.
func tools(raw json.RawMessage) json.RawMessage {
	var all []map[string]json.RawMessage
	if len(raw) == 0 || strictjson.Unmarshal(raw, &all) != nil {
		return raw
	}
	for i, t := range all {
		schema, ok := t["input_schema"]
		if !ok {
			continue
		}
		function := map[string]json.RawMessage{"parameters": schema}
		for _, name := range []string{"name", "description", "strict"} {
			if value, ok := t[name]; ok {
				function[name] = value
			}
			delete(t, name)
		}
		delete(t, "input_schema")
		all[i]["type"] = json.RawMessage(`"function"`)
		all[i]["function"], _ = json.Marshal(function) // valid JSON
	}
	text, err := json.Marshal(all)
	if err != nil {
		return raw
	}
	return text
}

// inUserID finds the session in the user id that Claude Code sent until 2025.
var inUserID = regexp.MustCompile(`_session_([0-9A-Za-z-]{8,64})$`)

// session returns the session that metadata.user_id names in the forms of Claude Code:
// user_…_account_…_session_ID, or a JSON object with session_id.
func session(metadata json.RawMessage) string {
	var m struct {
		UserID string `json:"user_id"`
	}
	var object struct {
		Session string `json:"session_id"`
	}
	if strictjson.Unmarshal(metadata, &m) != nil {
		return ""
	}
	if found := inUserID.FindStringSubmatch(m.UserID); found != nil {
		return found[1]
	}
	_ = strictjson.Unmarshal([]byte(m.UserID), &object) // any other id
	return object.Session
}
