// Package rubrics gives the dual evaluation of internal/rubric what applies its
// rules: code in the sandbox, and questions to a judge, which is a language
// model behind an API or a script.
package rubrics

import (
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/judge"
	"github.com/merit-rl/merit/internal/judge/judging"
	"github.com/merit-rl/merit/internal/models/chat"
	"github.com/merit-rl/merit/internal/rubric"
	"github.com/merit-rl/merit/sandbox"
)

// Config makes a reward a dual evaluation: outputs are judged by the rubric
// that an agent wrote and by the stakeholder's, and the module gets both.
type Config struct {
	// Fuel is what a rule may use on one output, in units as of sandbox.fuel: the
	// default ends a loop after a few tenths of a second.
	Fuel uint64 `yaml:"fuel" json:"fuel" jsonschema:"minimum=1000000,maximum=1125899906842624" hint:"use a number from 1000000 to 2^50; the default is 100000000"`
	// TotalFuel is what all rules of a rubric may use together on all outputs of an
	// episode: at its end no further rule is applied, and those that were not are
	// out_of_fuel. Raise it where outputs are many.
	TotalFuel uint64 `yaml:"total_fuel" json:"total_fuel"`
	// MemoryMiB bounds the memory of a rule, with its interpreter.
	MemoryMiB int `yaml:"memory_mib" json:"memory_mib" jsonschema:"minimum=16,maximum=4095"`
	// Languages are those that rules may be written in; what is written in
	// another has no score. Each needs its interpreter.
	Languages []rubric.Language `yaml:"languages" json:"languages" jsonschema:"enum=python,enum=javascript"`
	// Kept is how many verdicts are kept in memory, so that the same rule is not
	// applied twice to the same output; 0 keeps none.
	Kept int `yaml:"kept" json:"kept" jsonschema:"minimum=0,maximum=16777216"`
	// Check is how many episodes are played before training begins, to find out
	// whether the reward goes with the quality of rubrics; 0 looks at nothing. What
	// is found is told and kept as rubric-check.json; it stops no run.
	Check int `yaml:"check" json:"check" jsonschema:"minimum=0,maximum=10000"`
	// Judge answers the rules that are questions. Without one they have no score.
	Judge *Judge `yaml:"judge,omitempty" json:"judge,omitempty"`
}

// Judge says who answers questions about outputs: a server or a script.
type Judge struct {
	// Script is a reward, as of rewards[].module, that is run in the sandbox, held
	// to the limits of rules. Its ground truth is {"question", "output", "task"},
	// and its score, from 0 to 1, is the answer.
	Script string `yaml:"script,omitempty" json:"script,omitempty"`
	// Server says which language model answers, and how much it may be asked.
	Server *chat.Config `yaml:"server,omitempty" json:"server,omitempty"`
	// Seed decides the sampling.
	Seed uint64 `yaml:"seed" json:"seed"`
	// Temperature of the sampling; 0 takes the likeliest answer.
	Temperature float64 `yaml:"temperature" json:"temperature"`
	// ScoreStep is the distance of the scores between which the model may choose,
	// 0.001 to 0.5; 0 lets it say any number from 0 to 1.
	ScoreStep float64 `yaml:"score_step" json:"score_step"`
	// MaxTokens bounds an answer.
	MaxTokens int `yaml:"max_tokens" json:"max_tokens"`
	// MaxChars bounds a question with task and output, in bytes; a longer one has
	// no score.
	MaxChars int `yaml:"max_chars" json:"max_chars"`
	// Timeout is how long one question may take, with all that the client tries
	// again.
	Timeout time.Duration `yaml:"timeout" json:"timeout"`
	// Cache is a folder in which answers are kept from run to run; without one
	// they are kept in memory.
	Cache string `yaml:"cache" json:"cache"`
}

// DefaultCheck is enough episodes for each of a dozen stakeholders to come
// several times.
const DefaultCheck = 48

// DefaultConfig applies code in both languages and answers no question.
func DefaultConfig() Config {
	return Config{
		Fuel: 100_000_000, TotalFuel: 2_000_000_000, MemoryMiB: 64, Languages: []rubric.Language{rubric.Python, rubric.JavaScript},
		Kept: rubric.DefaultKept, Check: DefaultCheck,
	}
}

// SetDefaults is called for a section that is there before it is read.
func (c *Config) SetDefaults() { *c = DefaultConfig() }

// SetDefaults is called for a section that is there before it is read.
func (j *Judge) SetDefaults() {
	d := judge.DefaultConfig()
	*j = Judge{Seed: d.Seed, ScoreStep: d.ScoreStep, MaxTokens: 512, MaxChars: 200_000, Timeout: d.Timeout}
}

// Validate returns every problem of c, with key paths relative to the section.
func (c Config) Validate() []error {
	p := fault.Validate(&c)
	p.Check(c.TotalFuel >= c.Fuel && c.TotalFuel <= 1<<60, "total_fuel", c.TotalFuel, "use a number from fuel to 2^60; the default is 2000000000, twenty rules that use up theirs")
	return p
}

// Validate returns every problem of j, with key paths relative to the section.
func (j *Judge) Validate() []error {
	var p fault.Problems
	if (j.Script == "") == (j.Server == nil) {
		p.Invalid("", "a judge is a script or a server, one of the two", "give judge.script, or judge.server with url and model")
	}
	if j.Script != "" {
		if _, err := sandbox.ParseReference(j.Script); err != nil {
			p.Invalid("script", err.Error(), fault.As(err).Hint)
		} else if !sandbox.IsScript(reference(j.Script).Path) {
			p.Missing("script", "there is no script "+j.Script, "name a .py or .js file, or the folder of a script")
		}
	}
	if j.Server != nil {
		p = append(p, j.judging().Validate()...)
	}
	return p
}

// judging is the judge that asks the server.
func (j *Judge) judging() judging.Config {
	c := judging.Config{Config: judge.DefaultConfig(), Server: *j.Server}
	c.Mode, c.Rubric, c.MaxExplanation = judge.Independent, standards, maxExplanation
	c.Seed, c.Temperature, c.ScoreStep = j.Seed, j.Temperature, j.ScoreStep
	c.MaxTokens, c.MaxChars, c.Timeout, c.Cache = j.MaxTokens, j.MaxChars, j.Timeout, j.Cache
	return c
}

func reference(text string) sandbox.Reference {
	ref, err := sandbox.ParseReference(text)
	if err != nil {
		return sandbox.Reference{Path: text}
	}
	return ref
}

// EachPath replaces every path in c.
func (c *Config) EachPath(replace func(string) string) {
	if c.Judge == nil {
		return
	}
	j := *c.Judge // others may have it too
	for _, path := range []*string{&j.Script, &j.Cache} {
		if *path != "" {
			*path = replace(*path)
		}
	}
	if j.Server != nil {
		server := *j.Server
		if server.Cassettes.Dir != "" {
			server.Cassettes.Dir = replace(server.Cassettes.Dir)
		}
		j.Server = &server
	}
	c.Judge = &j
}

// named is err with its place below key.
func named(err error, key string) error {
	f := *fault.As(err)
	if f.Where == "" {
		f.Where = key
	} else {
		f.Where = key + "." + f.Where
	}
	return &f
}
