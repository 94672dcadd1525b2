package shape

import (
	"encoding/json"
	"strings"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// part is the union of the fields of content parts.
type part struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
	Image   string `json:"image_url"`
	Detail  string `json:"detail"`
}

// content reads the content of an item, which is a string or a list of parts. Parts of the
// Responses API become parts of chat messages; other parts stay unchanged. text is the text of
// all parts.
func (w *conversation) content(where string, raw json.RawMessage) (content rl.Content, text string) {
	if len(raw) > 0 && raw[0] == '"' {
		s, _ := w.text(where, raw)
		return rl.Text(s), s
	}
	all, ok := w.list(where, raw)
	if !ok {
		return content, ""
	}
	var said strings.Builder
	plain, chat := true, make([]any, len(all))
	for i, one := range all {
		var p part
		if _, ok := w.object(index(where, i), one); !ok {
			continue
		}
		err := strictjson.Unmarshal(one, &p)
		switch {
		case err == nil && (p.Type == "input_text" || p.Type == "output_text" || p.Type == "text" || p.Type == "refusal"):
			said.WriteString(p.Text + p.Refusal)
			chat[i] = map[string]string{"type": "text", "text": p.Text + p.Refusal}
		case err == nil && p.Type == "input_image":
			if p.Detail == "" {
				p.Detail = "auto"
			}
			plain, chat[i] = false, map[string]any{"type": "image_url", "image_url": map[string]string{"url": p.Image, "detail": p.Detail}}
		default:
			plain, chat[i] = false, one
		}
	}
	if plain {
		return rl.Text(said.String()), said.String()
	}
	if parts, err := json.Marshal(chat); err != nil || strictjson.Unmarshal(parts, &content) != nil {
		w.wrong(where, "the parts cannot be read", "send parts with a type, and with text as a string")
	}
	return content, said.String()
}
