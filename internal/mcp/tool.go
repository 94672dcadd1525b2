package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/wire"
)

// Bounds of what a server may offer.
const (
	MostTools  = 256
	MostSchema = 64 << 10  // bytes of the schema of a tool
	MostOffer  = 512 << 10 // bytes of all tools
	mostAbout  = 8 << 10   // bytes of the description of a tool
)

// Tool is a tool of a server.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Annotations json.RawMessage `json:"annotations,omitempty"`
}

// toolName is a name that models' APIs accept, too.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

// DecodeTools decodes the result of tools/list and returns its tools, and where the next page
// begins; "" is the last page.
func DecodeTools(result json.RawMessage) (tools []Tool, next string, err error) {
	var page struct {
		Tools []Tool `json:"tools"`
		Next  string `json:"nextCursor"`
	}
	if err := strictjson.Unmarshal(result, &page); err != nil || page.Tools == nil {
		return nil, "", errors.New("the answer to tools/list has no list of tools")
	}
	for i := range page.Tools {
		t := &page.Tools[i]
		if err := t.check(); err != nil {
			return nil, "", fmt.Errorf("tools[%d] %w", i, err)
		}
		t.Description, t.Annotations = wire.Cut(t.Description, mostAbout), nil
	}
	return page.Tools, page.Next, nil
}

func (t *Tool) check() error {
	switch {
	case !toolName.MatchString(t.Name):
		return fmt.Errorf("has the name %.140q, which is not 1 to 128 letters, digits, dots, dashes and underscores", t.Name)
	case len(t.InputSchema) > MostSchema:
		return fmt.Errorf("%s has a schema of %d bytes, at most %d", t.Name, len(t.InputSchema), MostSchema)
	case len(t.InputSchema) == 0 || t.InputSchema[0] != '{':
		return fmt.Errorf("%s has no schema of its arguments", t.Name)
	}
	return nil
}

// CheckTools returns an error if tools are too many or too large together, or two have the
// same name.
func CheckTools(tools []Tool) error {
	seen, size := map[string]bool{}, 0
	for _, t := range tools {
		if seen[t.Name] {
			return fmt.Errorf("two tools have the name %s", t.Name)
		}
		seen[t.Name] = true
		size += len(t.Name) + len(t.Description) + len(t.InputSchema)
	}
	switch {
	case len(tools) > MostTools:
		return fmt.Errorf("there are %d tools, at most %d", len(tools), MostTools)
	case size > MostOffer:
		return fmt.Errorf("the tools have %d bytes, at most %d", size, MostOffer)
	}
	return nil
}

// OpenAI returns the tools as a list in the form of OpenAI's API.
func OpenAI(tools []Tool) json.RawMessage {
	list := make([]map[string]any, len(tools))
	for i, t := range tools {
		list[i] = map[string]any{"type": "function", "function": map[string]any{
			"name": t.Name, "description": t.Description, "parameters": t.InputSchema,
		}}
	}
	return Marshal(list)
}

// FromOpenAI is the reverse of OpenAI.
func FromOpenAI(definitions json.RawMessage) ([]Tool, error) {
	var all []struct {
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	}
	if len(definitions) > 0 {
		if err := strictjson.Unmarshal(definitions, &all); err != nil {
			return nil, err
		}
	}
	tools := make([]Tool, len(all))
	for i, d := range all {
		tools[i] = Tool{Name: d.Function.Name, Description: d.Function.Description, InputSchema: d.Function.Parameters}
		if len(d.Function.Parameters) == 0 {
			tools[i].InputSchema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
	}
	return tools, nil
}
