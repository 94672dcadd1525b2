package envserver

import "github.com/merit-rl/merit/internal/openenv/shape"

type object = map[string]any

// schemas returns the schemas of actions, observations and state.
func (s *Server) schemas() shape.Schema {
	metadata := object{"type": "object", "additionalProperties": true}
	text := object{"type": "string"}
	action := object{"action": text, "metadata": metadata}
	required := []any{"action"}
	if n := len(s.spec.Actions); n > 0 {
		action["action"] = object{"anyOf": []any{object{"enum": s.spec.Actions}, object{"type": "integer", "minimum": 0, "maximum": n - 1}}}
		if s.parsed {
			action["action"] = object{"type": []any{"string", "integer"}}
		}
	}
	if len(s.spec.Tools) > 0 {
		required = nil
		call := object{"type": "object", "properties": object{"name": text, "arguments": object{}, "id": text, "type": text, "function": object{"type": "object"}}}
		action["tool_calls"] = object{"type": "array", "items": call}
		action["type"] = object{"enum": []any{shape.ListTools, shape.CallTool}}
		action["tool_name"], action["arguments"] = text, object{"type": "object"}
	}
	observation := object{"text": text, "metadata": metadata, "system": text, "info": object{"type": "object"}, "messages": object{"type": "array"}}
	if !s.config.TextOnly {
		observation["anchor"] = text
		if n := s.spec.Features(); n > 0 {
			observation["features"] = object{
				"type": "array", "items": object{"type": "number"}, "minItems": n, "maxItems": n,
				"description": "row-major", "shape": s.spec.FeatureShape,
			}
		}
	}
	if n := len(s.spec.Actions); n > 0 {
		observation["mask"] = object{"type": "array", "items": object{"enum": []any{0, 1}}, "minItems": n, "maxItems": n}
		observation["legal_actions"] = object{"type": "array", "items": object{"enum": s.spec.Actions}}
	}
	if len(s.spec.Tools) > 0 {
		observation["tools"], observation["tool_results"] = object{"type": "array"}, object{"type": "array"}
		observation["tool_name"], observation["result"], observation["error"] = text, object{}, object{}
	}
	a := object{"title": s.spec.Name + " action", "type": "object", "properties": action, "additionalProperties": false}
	if required != nil {
		a["required"] = required
	}
	return shape.Schema{
		Action:      a,
		Observation: object{"title": s.spec.Name + " observation", "type": "object", "properties": observation, "required": []any{"text"}, "additionalProperties": false},
		State: object{"title": s.spec.Name + " state", "type": "object", "properties": object{
			"episode_id": object{"type": []any{"string", "null"}}, "step_count": object{"type": "integer"}, "seed": object{"type": []any{"integer", "null"}},
			"done": object{"type": "boolean"}, "environment": text,
		}},
	}
}
