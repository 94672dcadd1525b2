package explain

import (
	"path/filepath"

	"github.com/goccy/go-yaml"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/align"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
)

// Settings determine advantages, together with the trajectories.
type Settings struct {
	Advantage advantage.Config
	Align     align.Config
	// Members is how many trajectories a whole group has; 0 = as many as the file contains.
	Members int
	// Moments are the moments of the batch, for estimators that whiten; nil = the file
	// contains the whole batch.
	Moments *advantage.Moments
}

// DefaultSettings returns the settings for files without a configuration.
func DefaultSettings() Settings {
	return Settings{Advantage: advantage.Default(), Align: align.DefaultConfig()}
}

// ReadSettings reads the settings of the run in dir from its resolved configuration, and
// ignores the other sections.
func ReadSettings(dir string) (Settings, error) {
	text, err := run.ReadConfig(dir)
	if err != nil {
		return Settings{}, err
	}
	s := DefaultSettings()
	c := struct {
		Advantage advantage.Config `yaml:"advantage"`
		Align     align.Config     `yaml:"align"`
		Rollout   struct {
			Members int `yaml:"members"`
		} `yaml:"rollout"`
	}{Advantage: s.Advantage, Align: s.Align} // keys that are newer than the run keep their defaults
	if err := yaml.Unmarshal(text, &c); err != nil {
		return s, &fault.Error{
			Boundary: fault.Storage, Kind: fault.Corrupt, Where: filepath.Join(dir, run.ConfigFile), What: "is not the configuration of a run", Err: err,
			Hint: "restore the file",
		}
	}
	return Settings{Advantage: c.Advantage, Align: c.Align, Members: c.Rollout.Members}, nil
}
