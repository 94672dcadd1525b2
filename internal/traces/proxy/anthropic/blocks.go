package anthropic

import (
	"encoding/json"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/traces/proxy/dialect"
)

// block is what Merit reads of a block. raw is all of it.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   json.RawMessage `json:"is_error"`
	Cache     json.RawMessage `json:"cache_control"`
	Citations json.RawMessage `json:"citations"`

	raw json.RawMessage
}

// known are the types of blocks that may be in the content of a message, in the API and
// its betas as of November 2026. Blocks of other types are kept, too, and counted.
var known = map[string]bool{
	"text": true, "image": true, "document": true, "search_result": true, "thinking": true, "redacted_thinking": true,
	"tool_use": true, "tool_result": true, "tool_reference": true, "container_upload": true, "compaction": true,
	"server_tool_use": true, "mcp_tool_use": true, "mcp_tool_result": true, "web_search_tool_result": true, "web_fetch_tool_result": true,
	"code_execution_tool_result": true, "bash_code_execution_tool_result": true, "text_editor_code_execution_tool_result": true,
	"tool_search_tool_result": true, "advisor_tool_result": true, "mid_conv_system": true, "fallback": true,
}

// readBlocks reads content: a text, which is one block, or a list of blocks. It counts
// blocks of unknown types.
func readBlocks(content json.RawMessage, unknown *dialect.Unknown) ([]block, error) {
	var raws []json.RawMessage
	if err := strictjson.Unmarshal(content, &raws); err != nil {
		return nil, err
	}
	blocks := make([]block, len(raws))
	for i, raw := range raws {
		if err := strictjson.Unmarshal(raw, &blocks[i]); err != nil {
			return nil, err
		}
		blocks[i].raw = raw
		unknown.Add(blocks[i].Type, known)
	}
	return blocks, nil
}

// plain reports whether a block is text and nothing else.
func (b *block) plain() bool {
	return b.Type == "text" && len(b.Cache) == 0 && (len(b.Citations) == 0 || string(b.Citations) == "null" || string(b.Citations) == "[]")
}

// content returns blocks as the content of a message: text if they are only that,
// otherwise a list of the blocks as they came.
func content(blocks []block) (c rl.Content) {
	text, plain := "", true
	for i := range blocks {
		text += blocks[i].Text
		plain = plain && blocks[i].plain()
	}
	if plain {
		return rl.Text(text)
	}
	_ = c.UnmarshalJSON(list(blocks)) // objects, which have been read
	return c
}

// list returns blocks as a JSON list.
func list(blocks []block) json.RawMessage {
	out := json.RawMessage{'['}
	for i := range blocks {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, blocks[i].raw...)
	}
	return append(out, ']')
}

// call returns a tool_use block as a call of a tool.
func (b *block) call() rl.ToolCall {
	return rl.ToolCall{ID: b.ID, Type: "function", Function: rl.FunctionCall{Name: b.Name, Arguments: compact(b.Input)}}
}

// compact returns the arguments of a tool in one spelling, so that what a model wrote
// equals what a client sends back.
func compact(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "{}"
	}
	return strictjson.Short(string(raw))
}

// spoken are the blocks of an assistant's message, sorted by what becomes of them.
type spoken struct {
	said, thoughts []block
	calls          []rl.ToolCall
}

func sorted(blocks []block) (s spoken) {
	for _, b := range blocks {
		switch b.Type {
		case "thinking", "redacted_thinking":
			s.thoughts = append(s.thoughts, b)
		case "tool_use":
			s.calls = append(s.calls, b.call())
		default:
			s.said = append(s.said, b)
		}
	}
	return s
}

// fields returns the thinking blocks as a field of a message. They keep their
// signatures, without which the API does not accept them.
func (s *spoken) fields() []rl.Field {
	if len(s.thoughts) == 0 {
		return nil
	}
	return []rl.Field{{Name: "thinking_blocks", Value: list(s.thoughts)}}
}
