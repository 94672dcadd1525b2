// Package action parses the answer of a language model into an action, as
// configured. An answer that does not parse is not an action: the parser returns
// one sentence that says what is wrong and what is allowed, short enough to show
// to the model. It never guesses or fills in anything.
//
// Answers are untrusted. Their size, the depth of their JSON, the matches of an
// expression and the cost of a JSON Schema are bounded; expressions are RE2.
package action

import (
	"regexp"

	"github.com/merit-rl/merit/core/fault"
)

// Kind names a way to find the action in an answer.
type Kind string

// The ways to find an action.
const (
	None       Kind = "none"        // the whole answer is the action
	Choice     Kind = "choice"      // the answer contains the name of an action
	Regex      Kind = "regex"       // an expression captures the action
	JSONSchema Kind = "json_schema" // the answer contains JSON of a given schema
	ToolCalls  Kind = "tool_calls"  // the answer calls tools
	Chat       Kind = "chat"        // the answer calls tools, or is the action as a whole; the environment checks both
)

// Take says which match in an answer counts.
type Take string

// The matches that count.
const (
	Only  Take = "only"  // the only one; two different ones are an error
	First Take = "first" // the first
	Last  Take = "last"  // the last
)

// Config says how an action is found in the answer of a language model.
type Config struct {
	// Parse is how the action is found. none takes the whole answer. choice looks
	// for the name of one of the environment's actions. regex takes what an
	// expression captures. json_schema reads JSON. tool_calls reads calls of the API
	// or, in the text, <tool_call>{"name": …, "arguments": {…}}</tool_call>. If the
	// environment names its actions, the result must be one of the names. chat reads
	// tool calls, or takes an answer without calls as the agent's final message; the
	// environment receives calls even if they are wrong, and reacts to them.
	Parse Kind `yaml:"parse" json:"parse" jsonschema:"enum=none,enum=choice,enum=regex,enum=json_schema,enum=tool_calls,enum=chat"`
	// After is an RE2 expression such as </think>. Only the text after its last
	// match is read, without surrounding white space; an answer without a match is
	// invalid. Empty reads everything.
	After string `yaml:"after" json:"after"`
	// Take is which match of choice, regex or json_schema counts. With only, an
	// answer may repeat an action but must not name two different ones.
	Take Take `yaml:"take" json:"take" jsonschema:"enum=only,enum=first,enum=last"`
	// IgnoreCase accepts names of actions in upper or lower case.
	IgnoreCase bool `yaml:"ignore_case" json:"ignore_case"`
	// WholeWords makes choice ignore names inside longer words. Words are letters,
	// digits and underscores, with an apostrophe between letters or a point between
	// digits; scripts without spaces have no words. Of several names that begin at
	// the same place, the longest counts, with or without this key.
	WholeWords bool `yaml:"whole_words" json:"whole_words"`
	// Pattern is the RE2 expression of regex. The action is the first capture that
	// takes part in a match, or the match itself if there are no captures.
	Pattern string `yaml:"pattern" json:"pattern"`
	// Schema is the JSON Schema of json_schema (draft 2020-12 unless $schema says
	// otherwise). It cannot refer to anything outside itself.
	Schema map[string]any `yaml:"schema" json:"schema"`
	// Field is the path of the action in the JSON of json_schema: keys and list
	// indices, separated by points, such as move.name. Empty makes the whole JSON
	// value the action.
	Field string `yaml:"field" json:"field"`
	// Explain puts a description of the error before the observation that is
	// repeated after an invalid action.
	Explain bool `yaml:"explain" json:"explain"`
	// AskAgain is the number of consecutive invalid actions that ends an episode; 0
	// means no limit.
	AskAgain int `yaml:"ask_again" json:"ask_again" jsonschema:"minimum=0"`
}

// DefaultConfig returns the whole answer as the action, and strict settings for
// the other ways.
func DefaultConfig() Config {
	return Config{Parse: None, Take: Only, WholeWords: true, Explain: true}
}

// Validate returns every problem of c, with key paths relative to the stage.
func (c Config) Validate() []error {
	p := fault.Validate(&c)
	if e, ok := expression(&p, "after", c.After); ok && c.After != "" && e.MatchString("") {
		p.Invalid("after", "matches the empty text, so nothing might follow its last match", "write an expression that matches at least one character")
	}
	expression(&p, "pattern", c.Pattern)
	c.belongs(&p, "pattern", c.Pattern != "", Regex, "write the RE2 expression that captures the action")
	if c.belongs(&p, "schema", len(c.Schema) > 0, JSONSchema, "write the JSON Schema of an answer, such as {type: object}") {
		if _, err := compile(c.Schema); err != nil {
			p.Invalid("schema", err.Error(), "correct the JSON Schema; it may only refer to its own parts")
		}
	}
	if c.Field != "" && c.Parse != JSONSchema {
		c.idle(&p, "field", JSONSchema)
	}
	return p
}

// belongs reports whether a key is set and the way of parsing uses it. It notes a
// problem if the key is missing, or set but not used.
func (c Config) belongs(p *fault.Problems, key string, set bool, way Kind, hint string) bool {
	if set == (c.Parse == way) {
		return set
	}
	if set {
		c.idle(p, key, way)
	} else {
		p.Missing(key, "is missing, and parse: "+string(way)+" needs it", hint)
	}
	return false
}

func (c Config) idle(p *fault.Problems, key string, way Kind) {
	p.Invalid(key, "is not used with parse: "+string(c.Parse), "remove it, or use parse: "+string(way))
}

func expression(p *fault.Problems, key, text string) (*regexp.Regexp, bool) {
	e, err := regexp.Compile(text)
	if err != nil {
		p.Invalid(key, err.Error(), "write an RE2 expression; see https://pkg.go.dev/regexp/syntax")
	}
	return e, err == nil
}
