// Package action makes an action of what a language model said, in the way the
// configuration says. What does not parse is no action at all: it comes with
// one sentence that says what was wrong and what is allowed, short enough to be
// shown to the model. Nothing is ever guessed or filled in.
//
// Answers are untrusted. Their size, the depth of their JSON, the matches of an
// expression and the work of a JSON Schema are bounded; expressions are RE2.
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

// Take says which finding in an answer counts.
type Take string

// The findings that count.
const (
	Only  Take = "only"  // the one that there is: two different ones are no answer
	First Take = "first" // the first
	Last  Take = "last"  // the last
)

// Config says how an action is found in what a language model said.
type Config struct {
	// Parse is the way: none takes the whole answer, choice looks for the name
	// of one of the environment's actions, regex for what an expression
	// captures, json_schema for JSON, tool_calls for calls of the API or, in
	// the text, for <tool_call>{"name": …, "arguments": {…}}</tool_call>. Where
	// the environment names its actions, what is found must be a name. chat
	// takes calls if there are any, and else the whole answer, as the last word
	// of an agent; the environment hears what is wrong with a call and answers it.
	Parse Kind `yaml:"parse" json:"parse" jsonschema:"enum=none,enum=choice,enum=regex,enum=json_schema,enum=tool_calls,enum=chat"`
	// After is an RE2 expression such as </think>: only what follows its last
	// match is read, without white space around it, and an answer without a
	// match is invalid. Empty reads everything.
	After string `yaml:"after" json:"after"`
	// Take says which finding of choice, regex or json_schema counts. With only,
	// an answer may repeat itself but not name two different actions.
	Take Take `yaml:"take" json:"take" jsonschema:"enum=only,enum=first,enum=last"`
	// IgnoreCase lets names of actions be written in upper or lower case.
	IgnoreCase bool `yaml:"ignore_case" json:"ignore_case"`
	// WholeWords makes choice pass over names inside of longer words. Words are
	// letters, digits and underscores, with an apostrophe between letters or a
	// point between digits; scripts without spaces have no words. Of names that
	// begin at the same place the longest counts, with whole words or without.
	WholeWords bool `yaml:"whole_words" json:"whole_words"`
	// Pattern is the RE2 expression of regex. Its first capture that takes part
	// in a match is the action, or the match if it captures nothing.
	Pattern string `yaml:"pattern" json:"pattern"`
	// Schema is the JSON Schema of json_schema (draft 2020-12 unless $schema
	// says otherwise). It cannot refer to anything outside itself.
	Schema map[string]any `yaml:"schema" json:"schema"`
	// Field is where in the JSON of json_schema the action is: keys, and
	// numbers in lists, with points between them, such as move.name. Empty
	// makes the JSON itself the action.
	Field string `yaml:"field" json:"field"`
	// Explain begins the observation that is repeated after an invalid action
	// with what was wrong with it.
	Explain bool `yaml:"explain" json:"explain"`
	// AskAgain is how many invalid actions in a row end an episode; 0 means
	// that none do.
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
		p.Invalid("after", "matches the empty text, so that nothing might follow its last match", "write an expression that needs at least one character")
	}
	expression(&p, "pattern", c.Pattern)
	c.belongs(&p, "pattern", c.Pattern != "", Regex, "write the RE2 expression that captures the action")
	if c.belongs(&p, "schema", len(c.Schema) > 0, JSONSchema, "write the JSON Schema of an answer, such as {type: object}") {
		if _, err := compile(c.Schema); err != nil {
			p.Invalid("schema", err.Error(), "correct the JSON Schema; it may refer to its own parts only")
		}
	}
	if c.Field != "" && c.Parse != JSONSchema {
		c.idle(&p, "field", JSONSchema)
	}
	return p
}

// belongs notes a key that its way of parsing lacks, or that another way has
// no use for, and reports whether it is set where it belongs.
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
	p.Invalid(key, "has no use with parse: "+string(c.Parse), "remove it, or use parse: "+string(way))
}

func expression(p *fault.Problems, key, text string) (*regexp.Regexp, bool) {
	e, err := regexp.Compile(text)
	if err != nil {
		p.Invalid(key, err.Error(), "write an RE2 expression; https://pkg.go.dev/regexp/syntax has the syntax")
	}
	return e, err == nil
}
