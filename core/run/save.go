package run

import "github.com/merit-rl/merit/core/fault"

// SaveConfig selects the training episodes that trajectories/ keeps. Rules
// add up; an episode is kept once.
type SaveConfig struct {
	// Every keeps each Nth episode of the run; 0 keeps none by this rule.
	Every int `yaml:"every" json:"every"`
	// Failed keeps every episode without a score.
	Failed bool `yaml:"failed" json:"failed"`
	// Best and Worst keep that many episodes of each iteration by score.
	Best  int `yaml:"best" json:"best"`
	Worst int `yaml:"worst" json:"worst"`
}

// DefaultSaveConfig keeps what explains a run without filling a disk.
func DefaultSaveConfig() SaveConfig {
	return SaveConfig{Every: 500, Failed: true, Best: 1, Worst: 1}
}

// Validate returns every problem of c, with key paths relative to the stage.
func (c SaveConfig) Validate() []error {
	var p fault.Problems
	const off = "use 0 to turn the rule off, or more"
	p.Check(c.Every >= 0, "every", c.Every, off)
	p.Check(c.Best >= 0, "best", c.Best, off)
	p.Check(c.Worst >= 0, "worst", c.Worst, off)
	return p
}
