// Package mixture plays several environments as one. Each episode is in one of them, which
// its seed determines, in proportion to their weights.
package mixture

import (
	"cmp"
	"fmt"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/sampling"
	"github.com/merit-rl/merit/internal/host"
)

// Part is one environment of a mixture.
type Part struct {
	// Name names the environment in metrics and in the metadata of its episodes; if empty,
	// it is the name of the plug-in.
	Name         string `yaml:"name" json:"name"`
	host.Program `yaml:",inline"`
	// Module is the path of what the sandbox runs, instead of Plugin.
	Module string `yaml:"module,omitempty" json:"module,omitempty"`
	// Options are the options of the plug-in, as in environment.options.
	Options map[string]any `yaml:"options" json:"options"`
	// Weight is the share of episodes, relative to the other weights.
	Weight int `yaml:"weight" json:"weight" jsonschema:"minimum=1,maximum=1000" hint:"use a whole number from 1 to 1000"`
}

// SetDefaults sets the defaults of an element of a list before the element is read.
func (p *Part) SetDefaults() { p.Weight = 1 }

// Called returns the name of p.
func (p Part) Called() string {
	if p.Name == "" {
		return cmp.Or(p.Plugin, p.Module)
	}
	return p.Name
}

// maxParts bounds the environments of a mixture: each has a process for every worker.
const maxParts = 64

// Validate returns all problems of the environments of a mixture.
func Validate(all []Part) []error {
	var p fault.Problems
	if len(all) > maxParts {
		p.Invalid("", fmt.Sprintf("has %d environments, more than %d", len(all), maxParts), "use fewer")
	}
	seen := map[string]bool{}
	for i, part := range all {
		at := fmt.Sprintf("[%d]", i)
		p.Under(at, fault.Validate(&part))
		host.CheckModule(&p, at+".", part.Plugin, part.Module)
		switch name := part.Called(); {
		case name == "" || part.Plugin == "" && part.Module == "":
			p.Missing(at+".plugin", "the environment has no plug-in", "set it to the name of a plug-in or to a path")
		case seen[name]:
			p.Invalid(at+".name", fmt.Sprintf("%q is the name of two environments", name), "set another name")
		default:
			seen[name] = true
		}
	}
	return p
}

// sourceOf returns what a sampler needs to know about p, which has so many tasks.
func (p Part) sourceOf(tasks int) sampling.Source {
	return sampling.Source{Name: p.Called(), Weight: p.Weight, Tasks: tasks}
}
