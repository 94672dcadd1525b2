// Package evidence says what two evaluations show: by how much one policy is
// better than another, how sure that is, and what to do about it.
package evidence

import (
	"math"

	"github.com/merit-rl/merit/core/fault"
)

// Config says what a policy must show before it takes another's place.
type Config struct {
	// Metric is what is judged: success, return, length or a metric of the
	// environment. auto is success, or, where the two do not differ in success by
	// more than chance, return.
	Metric string `yaml:"metric" json:"metric" resume:"free"`
	// Lower says that less of the metric is better, as of a cost.
	Lower bool `yaml:"lower" json:"lower" resume:"free"`
	// Promote is how much better a policy must be to be promoted, as a share of
	// what the other one has: 0.15 is 15 %.
	Promote float64 `yaml:"promote" json:"promote" resume:"free" jsonschema:"minimum=0" hint:"use 0 or more; 0.15 is 15 %"`
	// Iterate is how much better it must be to be worth more work; below it one
	// falls back on what was there.
	Iterate float64 `yaml:"iterate" json:"iterate" resume:"free" jsonschema:"minimum=0" hint:"use 0 or more, and not more than promote"`
	// Significance is below which p-value a difference is more than chance.
	Significance float64 `yaml:"significance" json:"significance" resume:"free" jsonschema:"exclusiveMinimum=0,exclusiveMaximum=1" hint:"use a probability such as 0.05"`
	// MaxUnscored is the share of the episodes that may be without a score in a
	// promotion: of them nothing is known, and a policy whose worst episodes fail to
	// be scored looks better than it is.
	MaxUnscored float64 `yaml:"max_unscored" json:"max_unscored" jsonschema:"minimum=0,maximum=1"`
}

// Auto is the Metric that chooses between success and return.
const Auto = "auto"

// Default is 15 %, significant, and a score for 99 % to promote, 5 % to go on.
func Default() Config {
	return Config{Metric: Auto, Promote: 0.15, Iterate: 0.05, Significance: 0.05, MaxUnscored: 0.01}
}

// Validate returns every problem of c, with key paths relative to the section.
func (c Config) Validate() []error {
	p := fault.Validate(&c)
	p.Check(c.Metric != "", "metric", c.Metric, "use auto, success, return, length or the name of a metric of the environment")
	p.Check(!c.Lower || c.Metric != Auto, "lower", c.Lower, "name the metric of which less is better")
	p.Check(!math.IsInf(c.Promote, 1), "promote", c.Promote, "use 0 or more; 0.15 is 15 %")
	p.Check(c.Iterate <= max(c.Promote, 0), "iterate", c.Iterate, "use 0 or more, and not more than promote")
	return p
}
