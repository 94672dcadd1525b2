// Package rubric is the environment plug-in rubric. An agent asks a stakeholder what matters
// and writes a rubric. Then workers do the task, and a reward (see internal/rubric)
// evaluates their outputs by the written rubric and by the stakeholder's own, which
// the agent never sees.
//
// A network chooses questions and criteria from a list (form: choice); language
// models ask and write in JSON (form: json), or write names of criteria (form: names). All forms produce the same rubrics,
// whose rules are code.
package rubric

import "github.com/merit-rl/merit/sdk/plugin"

// Definition returns the definition of the plug-in.
func Definition() plugin.Definition[Options] {
	return plugin.Definition[Options]{
		Name:     "rubric",
		Version:  "1.0.0",
		Summary:  "Ask a stakeholder, write a rubric; judged on whether both agree about what workers make.",
		Defaults: defaults(),
		Check:    func(setup plugin.Setup, o Options) error { return o.check(setup.Split) },
		New:      newEnvironment,
	}
}
