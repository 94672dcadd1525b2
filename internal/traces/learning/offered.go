package learning

import (
	"encoding/json"
	"slices"

	"github.com/merit-rl/merit/internal/base/strictjson"
)

// Offered returns the answers among which a call let its model choose, from vLLM's
// guided_choice and structured_outputs.choice, or the enum of a response_format's
// JSON Schema. It is nil if the model's answer was not restricted.
// It ignores settings of any other form.
func Offered(settings json.RawMessage) []string {
	var s struct {
		Guided     []string `json:"guided_choice"`
		Structured struct {
			Choice []string `json:"choice"`
		} `json:"structured_outputs"`
		Format struct {
			Schema struct {
				Schema struct {
					Enum []string `json:"enum"`
				} `json:"schema"`
			} `json:"json_schema"`
		} `json:"response_format"`
	}
	if len(settings) == 0 || strictjson.Unmarshal(settings, &s) != nil {
		return nil // settings of another form do not restrict the answer
	}
	for _, list := range [][]string{s.Structured.Choice, s.Guided, s.Format.Schema.Schema.Enum} {
		if len(list) > 0 {
			return list
		}
	}
	return nil
}

// mask marks the policy's choices that were offered; nil means all.
func mask(choices, offered []string) []byte {
	if offered == nil {
		return nil
	}
	m := make([]byte, len(choices))
	for i, name := range choices {
		if slices.Contains(offered, name) {
			m[i] = 1
		}
	}
	return m
}
