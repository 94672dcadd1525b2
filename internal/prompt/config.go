package prompt

import (
	"strings"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/fault"
)

// Place is where a prompt stands in what the model is given.
type Place = string

// The closed set of places.
const (
	System   Place = "system"   // before the task, as the system message
	Template Place = "template" // around the task: Input in it stands for the last message of the user
)

// Input is the word in a template that stands for the task.
const Input = "{input}"

// Method is how the beam is chosen from the candidates of a round.
type Method = string

// The closed set of methods.
const (
	Halving Method = "halving" // all play a few tasks, the better half plays more, and so on
	UCB     Method = "ucb"     // who may be the best plays next, by the upper bound of what is known
	All     Method = "all"     // all play all tasks
)

// Config says how prompts are sought.
type Config struct {
	// Place is system (the prompt stands before the task as the system message)
	// or template (it stands around the task, which is put where it says {input}).
	Place Place `yaml:"place" json:"place" jsonschema:"enum=system,enum=template"`
	// Rounds is how often the beam is criticised and edited.
	Rounds int `yaml:"rounds" json:"rounds" jsonschema:"minimum=1,maximum=1000"`
	// Beam is how many candidates go on to the next round.
	Beam int `yaml:"beam" json:"beam" jsonschema:"minimum=1,maximum=64"`
	// Minibatch is how many tasks a candidate plays before it is criticised.
	Minibatch int `yaml:"minibatch" json:"minibatch" jsonschema:"minimum=1,maximum=10000"`
	// Examples is how many of the worst answers a critic is shown.
	Examples int `yaml:"examples" json:"examples" jsonschema:"minimum=1,maximum=32"`
	// Good is the score from which on an answer is not criticised.
	Good float64 `yaml:"good" json:"good" jsonschema:"minimum=-1e12,maximum=1e12"`
	// ShowTruth lets the critic see the ground truth of the examples.
	ShowTruth bool `yaml:"show_truth" json:"show_truth"`
	// Critiques is how many critiques a candidate gets in a round.
	Critiques int `yaml:"critiques" json:"critiques" jsonschema:"minimum=0,maximum=32"`
	// Edits is how many rewritten prompts each critique leads to.
	Edits int `yaml:"edits" json:"edits" jsonschema:"minimum=0,maximum=32"`
	// Paraphrases is how many times a candidate is said in other words.
	Paraphrases int `yaml:"paraphrases" json:"paraphrases" jsonschema:"minimum=0,maximum=32"`
	// Children is the most new candidates of a round that are looked at; of more,
	// a sample is.
	Children int `yaml:"children" json:"children" jsonschema:"minimum=1,maximum=1024"`
	// Select says how the beam is chosen.
	Select Select `yaml:"select" json:"select"`
	// Patience ends the search after so many rounds without a new best
	// candidate; 0 = never.
	Patience int `yaml:"patience" json:"patience" jsonschema:"minimum=0,maximum=1000"`
	// MaxPrompt bounds a prompt, in bytes.
	MaxPrompt int `yaml:"max_prompt" json:"max_prompt" jsonschema:"minimum=16,maximum=32768"`
	// MaxUnscored is the share of a candidate's answers that may be without a
	// score. A candidate with more does not go on; a start with more ends the
	// search.
	MaxUnscored float64 `yaml:"max_unscored" json:"max_unscored" jsonschema:"minimum=0,maximum=1"`
}

// Select says how the beam is chosen.
type Select struct {
	// Method is halving, ucb or all.
	Method Method `yaml:"method" json:"method" jsonschema:"enum=halving,enum=ucb,enum=all"`
	// Plays is about how many tasks are played for the choice of a round, by all
	// candidates together; all does not look at it.
	Plays int `yaml:"plays" json:"plays" jsonschema:"minimum=1,maximum=1000000"`
	// Pull is how many tasks ucb lets one candidate play at a time.
	Pull int `yaml:"pull" json:"pull" jsonschema:"minimum=1,maximum=10000"`
	// Exploration is the factor of the upper bound of ucb.
	Exploration float64 `yaml:"exploration" json:"exploration" jsonschema:"minimum=0,maximum=1e6"`
	// Final is on how many training tasks the last beam and the start play for
	// the choice of the one prompt that is validated.
	Final int `yaml:"final" json:"final" jsonschema:"minimum=1,maximum=1000000"`
}

// Budget is what a search may spend. What the last comparison on the held-out
// tasks will need is kept back from the beginning; of tokens it is an estimate.
type Budget struct {
	// Calls is the most calls of models, the editor's among them; 0 = no bound.
	Calls int `yaml:"calls" json:"calls" jsonschema:"minimum=0"`
	// Tokens is the most tokens of prompts and answers; 0 = no bound.
	Tokens int64 `yaml:"tokens" json:"tokens" jsonschema:"minimum=0" hint:"use a whole number of at least 0; 0 means no bound"`
}

// DefaultConfig is a small search: three rounds of a beam of three.
func DefaultConfig() Config {
	return Config{
		Place: System, Rounds: 3, Beam: 3, Minibatch: 16, Examples: 4, Good: 1, ShowTruth: true, Critiques: 2, Edits: 1, Paraphrases: 1, Children: 9,
		Select: Select{Method: Halving, Plays: 96, Pull: 4, Exploration: 0.5, Final: 64}, MaxPrompt: 4 << 10, MaxUnscored: 0.2,
	}
}

// Validate returns every problem of c, with key paths relative to the section.
func (c Config) Validate() []error {
	p := fault.Validate(&c)
	p.Check(c.Critiques*c.Edits+c.Paraphrases > 0, "paraphrases", c.Paraphrases, "use at least one critique with an edit, or a paraphrase: there is no other way to a new prompt")
	return p
}

// CheckText says in one sentence what keeps text from being a prompt, or "".
// The sentence may be told to the editor.
func (c Config) CheckText(text string) string {
	switch {
	case !utf8.ValidString(text):
		return "it is not UTF-8"
	case strings.TrimSpace(text) == "":
		return "it is empty"
	case len(text) > c.MaxPrompt:
		return "it is too long"
	case c.Place == Template && !strings.Contains(text, Input):
		return "it lacks " + Input + ", which stands for the task"
	}
	return ""
}
