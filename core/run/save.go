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

// Validate returns every problem of c.
func (c SaveConfig) Validate() (problems []error) {
	for _, f := range []struct {
		key   string
		value int
	}{{"every", c.Every}, {"best", c.Best}, {"worst", c.Worst}} {
		if f.value < 0 {
			problems = append(problems, &fault.Error{
				Boundary: fault.Config, Kind: fault.Invalid, Where: f.key,
				What: "must not be negative", Hint: "use 0 to turn the rule off",
			})
		}
	}
	return problems
}
