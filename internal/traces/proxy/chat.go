package proxy

import (
	"encoding/json"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// apis lists the paths whose calls are recorded, longer ones first, because some are
// suffixes of others.
var apis = []string{"chat/completions", "completions", "responses"}

// request is the input of a model.
type request struct {
	model    string
	prompts  [][]rl.Message // one, except for completions of several texts
	tokens   [][]int32      // of prompts that were given as tokens
	tools    json.RawMessage
	settings map[string]json.RawMessage
	previous string // id of the response that this one continues
	choices  int    // requested for each prompt
}

// readRequest reads the body of a call. It returns an error if the body is not in
// OpenAI's form.
func readRequest(api string, body []byte) (q request, err error) {
	var all map[string]json.RawMessage
	if err := strictjson.Unmarshal(body, &all); err != nil {
		return q, err
	}
	take := func(name string) json.RawMessage {
		v := all[name]
		delete(all, name)
		return v
	}
	_ = strictjson.Unmarshal(take("model"), &q.model) // empty if it is not text
	q.tools = take("tools")
	delete(all, "api_key")
	delete(all, "functions")
	q.choices = 1
	if n := 0; strictjson.Unmarshal(all["n"], &n) == nil && n > 1 {
		q.choices = n
	}
	switch api {
	case "completions":
		q.prompts, q.tokens, err = texts(take("prompt"))
	case "responses":
		_ = strictjson.Unmarshal(all["previous_response_id"], &q.previous)
		var m []rl.Message
		m, err = readInput(take("instructions"), take("input"))
		q.prompts = [][]rl.Message{m}
	default:
		var m []rl.Message
		err = strictjson.Unmarshal(take("messages"), &m)
		q.prompts = [][]rl.Message{m}
	}
	q.settings = all
	return q, err
}

// texts reads the prompt of completions: a text, tokens, or a list of either.
func texts(raw json.RawMessage) (prompts [][]rl.Message, tokens [][]int32, err error) {
	var one string
	var many []string
	var ids []int32
	switch {
	case strictjson.Unmarshal(raw, &one) == nil:
		many = []string{one}
	case strictjson.Unmarshal(raw, &ids) == nil && len(ids) > 0:
		return [][]rl.Message{{}}, [][]int32{ids}, nil
	case strictjson.Unmarshal(raw, &tokens) == nil && len(tokens) > 0:
		return make([][]rl.Message, len(tokens)), tokens, nil
	default:
		if err := strictjson.Unmarshal(raw, &many); err != nil {
			return nil, nil, err
		}
	}
	for _, text := range many {
		prompts = append(prompts, []rl.Message{{Role: rl.RoleUser, Content: rl.Text(text)}})
	}
	return prompts, nil, nil
}

// added returns a request with the fields that it lacked.
func added(body []byte, fields map[string]json.RawMessage) []byte {
	var all map[string]json.RawMessage
	if strictjson.Unmarshal(body, &all) != nil {
		return body
	}
	changed := false
	for name, value := range fields {
		if _, there := all[name]; !there && (name != "stream_options" || string(all["stream"]) == "true") {
			all[name], changed = value, true
		}
	}
	text, err := json.Marshal(all)
	if err != nil || !changed {
		return body
	}
	return text
}
