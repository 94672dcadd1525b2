package rubric

import (
	"encoding/json"
	"fmt"
)

// schema is a template that is filled with the limits of Validate. The order of keys is the
// order in which a constrained model writes them.
const schema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "Rubric",
  "description": "Criteria by which an output is judged. The weights of all criteria sum to 1, and no two have one name.",
  "type": "object",
  "additionalProperties": false,
  "required": ["name", "criteria"],
  "properties": {
    "name": {"type": "string", "maxLength": %[1]d, "pattern": %[6]s},
    "description": {"type": "string", "maxLength": %[2]d, "pattern": %[7]s},
    "criteria": {"type": "array", "minItems": 1, "maxItems": %[3]d, "items": {"$ref": "#/$defs/criterion"}}
  },
  "$defs": {
    "criterion": {
      "description": "One thing that counts.",
      "type": "object",
      "additionalProperties": false,
      "required": ["name", "weight", "rule"],
      "properties": {
        "name": {"type": "string", "maxLength": %[1]d, "pattern": %[6]s},
        "description": {"type": "string", "maxLength": %[2]d, "pattern": %[7]s},
        "weight": {"description": "Its share of the total.", "type": "number", "exclusiveMinimum": 0, "maximum": 1},
        "rule": {
          "description": "How well an output meets it, from 0 to 1: code that is run, or a question to a judge.",
          "oneOf": [{"$ref": "#/$defs/code"}, {"$ref": "#/$defs/question"}]
        }
      }
    },
    "code": {
      "type": "object",
      "additionalProperties": false,
      "required": ["language", "code"],
      "properties": {
        "language": {"enum": ["%[9]s", "%[10]s"]},
        "code": {
          "description": "Defines rule(output, task), which returns a bool or a number from 0 to 1. output is {text, resources: [{name, kind, text}]}, task is {text, inputs: [{name, kind, text}]}.",
          "type": "string", "maxLength": %[4]d, "pattern": %[8]s
        }
      }
    },
    "question": {
      "type": "object",
      "additionalProperties": false,
      "required": ["question"],
      "properties": {"question": {"type": "string", "maxLength": %[5]d, "pattern": %[8]s}}
    }
  }
}`

// Schema returns the JSON Schema (draft 2020-12) of a rubric. It covers everything that Parse
// checks, except that weights sum to 1 and that no key and no name occurs twice.
func Schema() json.RawMessage {
	quoted := func(pattern string) json.RawMessage {
		text, _ := json.Marshal(pattern) // a string always marshals
		return text
	}
	return fmt.Appendf(nil, schema, MaxName, MaxDescription, MaxCriteria, MaxCode, MaxQuestion,
		quoted(linePattern), quoted(textPattern), quoted(solidPattern), Python, JavaScript)
}
