package dialect

import (
	"encoding/json"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// API is a kind of call that the proxy records.
type API struct {
	Path string // the end of the path, without the version
	Form string // whose form its bodies have, such as OpenAI's
	Last string // is in the last event of a stream

	// Request reads the body of a call; an error says that it is not in this form.
	Request func(body []byte) (Request, error)
	// Answer assembles an answer from a body or from a stream of events. complete is false
	// if the answer is truncated or in an unknown form.
	Answer func(body []byte, stream bool) (a Answer, complete bool)
}

// Request is the input of a model.
type Request struct {
	Model    string
	Prompts  [][]rl.Message // one, except for completions of several texts
	Tokens   [][]int32      // of prompts that were given as tokens
	Tools    json.RawMessage
	Settings map[string]json.RawMessage // fields that are nowhere else
	Previous string                     // id of the response that this one continues
	Choices  int                        // requested for each prompt
	Session  string                     // the harness's session, if the body names it
	Unknown  Unknown
}

// Fields reads the body of a call: its model and tools, and all other fields as
// settings. take removes one of them and returns it.
func Fields(body []byte) (q Request, take func(name string) json.RawMessage, err error) {
	q.Choices = 1
	if err := strictjson.Unmarshal(body, &q.Settings); err != nil {
		return q, nil, err
	}
	take = func(name string) json.RawMessage {
		v := q.Settings[name]
		delete(q.Settings, name)
		return v
	}
	_ = strictjson.Unmarshal(take("model"), &q.Model) // empty if it is not text
	q.Tools = take("tools")
	return q, take, nil
}

// Added returns a request with the fields that it lacked.
func Added(body []byte, fields map[string]json.RawMessage) []byte {
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
