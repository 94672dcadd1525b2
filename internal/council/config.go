// Package council lets several policies decide together: they answer a task in
// rounds, see each other's answers, vote, and may ask to begin again; enough
// votes for one answer end it, or the limit of rounds does.
//
// It is a stage as a rollout is: policies in, a decision and a trajectory for
// each agent out. What happens becomes spans for a trace.Sink, and what the
// decision was worth can be given to the agents (Credit). With policies that are
// functions of what they are given, a decision is too, whoever is faster.
package council

import (
	"fmt"
	"regexp"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
)

// Config says how a council decides.
type Config struct {
	// Rounds is the most rounds. In each, every agent answers and then votes.
	Rounds int `yaml:"rounds" json:"rounds" jsonschema:"minimum=1,maximum=1000"`
	// Quorum is the share of all agents whose votes one answer needs, above 0 and
	// at most 1.
	Quorum float64 `yaml:"quorum" json:"quorum" jsonschema:"exclusiveMinimum=0,maximum=1" hint:"use a share above 0 and at most 1; 1 is all agents"`
	// Restarts is how often a majority may throw all answers away and begin again,
	// with the reasons that were given. A restart is a round.
	Restarts int `yaml:"restarts" json:"restarts" jsonschema:"minimum=0,maximum=1000"`
	// Blind hides who gave an answer: a voter sees letters, in an order of its own
	// that depends on the seed.
	Blind bool `yaml:"blind" json:"blind"`
	// VoteSelf lets an agent vote for an answer that it alone gave.
	VoteSelf bool `yaml:"vote_self" json:"vote_self"`
	// MaxAnswer bounds an answer, in bytes; what is longer is cut.
	MaxAnswer int `yaml:"max_answer" json:"max_answer" jsonschema:"minimum=1,maximum=1048576"`
	// Credit is what an agent gets of the score: team (all of it), own (the score
	// of its own last answer) or difference (what the score would lack without the
	// agent's answer and vote).
	Credit Rule `yaml:"credit" json:"credit" jsonschema:"enum=team,enum=own,enum=difference"`
}

// DefaultConfig is three rounds in which two thirds have to agree.
func DefaultConfig() Config {
	return Config{Rounds: 3, Quorum: 0.66, Restarts: 1, Blind: true, VoteSelf: true, MaxAnswer: 16 << 10, Credit: Team}
}

// Validate returns every problem of c, with key paths relative to the section.
func (c Config) Validate() []error {
	return fault.Validate(&c)
}

// MaxMembers is the most agents of a council: there is a letter for each.
const MaxMembers = 26

// Member is an agent of a council.
type Member struct {
	Name   string // in votes and traces: letters, digits, - and _
	System string // what it is told before the task; may be empty
	Model  string // who that is, in traces; may be empty
	Policy policy.Policy
}

var plain = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// CheckNames returns every problem of the names of a council's members, with key
// paths relative to their list.
func CheckNames(names []string) []error {
	var p fault.Problems
	p.Check(len(names) >= 2 && len(names) <= MaxMembers, "", len(names), fmt.Sprintf("use 2 to %d agents", MaxMembers))
	seen := map[string]bool{}
	for i, name := range names {
		at := fmt.Sprintf("[%d].name", i)
		p.Check(plain.MatchString(name), at, name, "use up to 64 letters, digits, dashes and underscores")
		p.Check(!seen[name], at, name, "give each agent its own name")
		seen[name] = true
	}
	return p
}
