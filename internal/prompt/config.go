package prompt

import (
	"strings"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/fault"
)

// Place is the position of a prompt in the input of the model.
type Place = string

// The places.
const (
	System   Place = "system"   // the prompt is the system message
	Template Place = "template" // the prompt surrounds the task: the user's last message replaces Input
)

// Input is the placeholder for the task in a template.
const Input = "{input}"

// Method is how the beam is selected from the candidates of a round.
type Method = string

// The methods.
const (
	Halving Method = "halving" // all play a few tasks, the better half plays more, and so on
	UCB     Method = "ucb"     // the candidate with the highest upper confidence bound plays next
	All     Method = "all"     // all play all tasks
)

// Config configures the search for a prompt.
type Config struct {
	// Place is system (the prompt is the system message) or template (the prompt contains
	// {input}, which the task replaces).
	Place Place `yaml:"place" json:"place" jsonschema:"enum=system,enum=template"`
	// Rounds is how often the beam is criticized and edited.
	Rounds int `yaml:"rounds" json:"rounds" jsonschema:"minimum=1,maximum=1000"`
	// Beam is how many candidates advance to the next round.
	Beam int `yaml:"beam" json:"beam" jsonschema:"minimum=1,maximum=64"`
	// Minibatch is how many tasks a candidate plays before it is criticized.
	Minibatch int `yaml:"minibatch" json:"minibatch" jsonschema:"minimum=1,maximum=10000"`
	// Examples is how many of the worst answers a critic sees.
	Examples int `yaml:"examples" json:"examples" jsonschema:"minimum=1,maximum=32"`
	// Good is the lowest score at which an answer is not criticized.
	Good float64 `yaml:"good" json:"good" jsonschema:"minimum=-1e12,maximum=1e12"`
	// ShowTruth shows the ground truth of the examples to the critic.
	ShowTruth bool `yaml:"show_truth" json:"show_truth"`
	// Critiques is how many critiques a candidate gets in a round.
	Critiques int `yaml:"critiques" json:"critiques" jsonschema:"minimum=0,maximum=32"`
	// Edits is how many rewritten prompts are requested per critique.
	Edits int `yaml:"edits" json:"edits" jsonschema:"minimum=0,maximum=32"`
	// Paraphrases is how many paraphrases of a candidate are requested.
	Paraphrases int `yaml:"paraphrases" json:"paraphrases" jsonschema:"minimum=0,maximum=32"`
	// Children is the largest number of new candidates in a round; if there are more, a random
	// sample is used.
	Children int `yaml:"children" json:"children" jsonschema:"minimum=1,maximum=1024"`
	// Select configures the selection of the beam.
	Select Select `yaml:"select" json:"select"`
	// Patience stops the search after this many rounds without a new best candidate; 0 =
	// never.
	Patience int `yaml:"patience" json:"patience" jsonschema:"minimum=0,maximum=1000"`
	// MaxPrompt is the largest size of a prompt, in bytes.
	MaxPrompt int `yaml:"max_prompt" json:"max_prompt" jsonschema:"minimum=16,maximum=32768"`
	// MaxUnscored is the allowed share of a candidate's answers without a score. A candidate
	// with more is not ranked; if the start has more, the search stops with an error.
	MaxUnscored float64 `yaml:"max_unscored" json:"max_unscored" jsonschema:"minimum=0,maximum=1"`
}

// Select configures the selection of the beam.
type Select struct {
	// Method is halving, ucb or all.
	Method Method `yaml:"method" json:"method" jsonschema:"enum=halving,enum=ucb,enum=all"`
	// Plays is approximately how many tasks all candidates together play for the selection in
	// a round; method all ignores it.
	Plays int `yaml:"plays" json:"plays" jsonschema:"minimum=1,maximum=1000000"`
	// Pull is how many tasks a candidate plays at a time with method ucb.
	Pull int `yaml:"pull" json:"pull" jsonschema:"minimum=1,maximum=10000"`
	// Exploration is the factor of the confidence bound of ucb.
	Exploration float64 `yaml:"exploration" json:"exploration" jsonschema:"minimum=0,maximum=1e6"`
	// Final is how many training tasks the last beam and the start play to choose the prompt
	// that is validated.
	Final int `yaml:"final" json:"final" jsonschema:"minimum=1,maximum=1000000"`
}

// Budget is what a search may spend. The search reserves what the final comparison on the
// held-out tasks needs; for tokens, the reserve is an estimate.
type Budget struct {
	// Calls is the largest number of model calls, including the editor's; 0 sets no limit.
	Calls int `yaml:"calls" json:"calls" jsonschema:"minimum=0"`
	// Tokens is the largest number of tokens of prompts and answers; 0 sets no limit.
	Tokens int64 `yaml:"tokens" json:"tokens" jsonschema:"minimum=0" hint:"use a whole number of at least 0; 0 sets no limit"`
}

// DefaultConfig returns a small search: three rounds with a beam of three.
func DefaultConfig() Config {
	return Config{
		Place: System, Rounds: 3, Beam: 3, Minibatch: 16, Examples: 4, Good: 1, ShowTruth: true, Critiques: 2, Edits: 1, Paraphrases: 1, Children: 9,
		Select: Select{Method: Halving, Plays: 96, Pull: 4, Exploration: 0.5, Final: 64}, MaxPrompt: 4 << 10, MaxUnscored: 0.2,
	}
}

// Validate returns every problem of c, with key paths relative to the section.
func (c Config) Validate() []error {
	p := fault.Validate(&c)
	p.Check(c.Critiques*c.Edits+c.Paraphrases > 0, "paraphrases", c.Paraphrases, "use at least one critique with an edit, or a paraphrase; otherwise there are no new prompts")
	return p
}

// CheckText says in one sentence why text is not a valid prompt, or returns "". The sentence
// may be sent to the editor.
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
