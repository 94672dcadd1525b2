package shape

import (
	"encoding/json"
	"fmt"

	"github.com/merit-rl/merit/internal/base/strictjson"
)

// Health is the body of /health: healthy, degraded or unhealthy.
type Health struct {
	Status string `json:"status"`
}

// Metadata is the body of /metadata.
type Metadata struct {
	Name        string  `json:"name"`
	Description string  `json:"description"`
	Readme      *string `json:"readme_content"`
	Version     *string `json:"version"`
	Author      *string `json:"author"`
	URL         *string `json:"documentation_url"`
}

// Schema is the body of /schema: JSON Schemas.
type Schema struct {
	Action      map[string]any `json:"action"`
	Observation map[string]any `json:"observation"`
	State       map[string]any `json:"state"`
}

// DecodeBody decodes the body of an HTTP answer into one of the types above.
func DecodeBody(text []byte, into any) error {
	if err := strictjson.CheckTo(maxDepth, text); err != nil {
		return err
	}
	return strictjson.Unmarshal(text, into)
}

// ResetBody is the body of POST /reset, and the data of a reset.
type ResetBody struct {
	Seed    *uint64 `json:"seed"`
	Episode string  `json:"episode_id"`
}

// DecodeReset decodes the parameters of a reset. It ignores other parameters, as the
// openenv package does if the environment does not take them.
func DecodeReset(data json.RawMessage) (ResetBody, error) {
	var b ResetBody
	if len(data) == 0 {
		return b, nil
	}
	if err := strictjson.Unmarshal(data, &b); err != nil {
		return b, &Failure{
			Code: ValidationError, Message: "Invalid message",
			Errors: []Detail{{Type: "value_error", Loc: []string{"data"}, Msg: "seed must be a whole number from 0 to 2^64-1, episode_id a text"}},
		}
	}
	if len(b.Episode) > 255 {
		return b, &Failure{Code: ValidationError, Message: "Invalid message", Errors: []Detail{{
			Type: "string_too_long", Loc: []string{"data", "episode_id"}, Msg: fmt.Sprintf("has %d bytes, at most 255", len(b.Episode)),
		}}}
	}
	return b, nil
}
