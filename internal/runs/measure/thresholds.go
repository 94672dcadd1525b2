package measure

import (
	"github.com/goccy/go-yaml"

	"github.com/merit-rl/merit/core/config"
	"github.com/merit-rl/merit/core/evidence"
	"github.com/merit-rl/merit/core/fault"
)

// thresholds is the part of a configuration that a comparison needs.
type thresholds struct {
	Evidence evidence.Config `yaml:"evidence"`
}

// Thresholds returns the evidence section of a configuration, with overrides of the form
// evidence.key=value. It ignores the rest of the text, so files that the text names may be
// gone. A text without the section has the defaults.
func Thresholds(source string, text []byte, overrides ...string) (evidence.Config, error) {
	var sections map[string]any
	if err := yaml.Unmarshal(text, &sections); err != nil {
		return evidence.Config{}, &fault.Error{
			Boundary: fault.Config, Kind: fault.Invalid, Where: source, What: "is not a configuration", Err: err, Hint: "name a YAML file",
		}
	}
	own := map[string]any{}
	if section, ok := sections["evidence"]; ok {
		own["evidence"] = section
	}
	text, err := config.Marshal(own)
	if err != nil {
		return evidence.Config{}, err
	}
	t := thresholds{evidence.Default()}
	d := config.New(source)
	d.Decode(text, &t)
	for _, o := range overrides {
		d.Set(o, &t)
	}
	var p fault.Problems
	for _, err := range t.Evidence.Validate() {
		f := *fault.As(err)
		f.Where = "evidence." + f.Where
		p = append(p, &f)
	}
	d.Check(p)
	return t.Evidence, d.Err()
}
