// Package htdag is the environment plug-in htdag: break a request down into a DAG of
// tasks that others execute.
//
// Requests come from a seeded generator that knows their right structure. Their
// text, and an estimate of how large each task is, are all that a planner sees.
// Too large a task goes wrong, too many tasks cost time and calls, and what
// begins before the things that it needs fails. The README of plugins/htdag has the rules.
//
// It uses only sdk/plugin, as any other plug-in would.
package htdag

import "github.com/merit-rl/merit/sdk/plugin"

// Definition returns the definition of the plug-in.
func Definition() plugin.Definition[Options] {
	return plugin.Definition[Options]{
		Name:     "htdag",
		Version:  "1.0.0",
		Summary:  "Break requests down into a DAG of tasks: when to split, into what, and when to stop.",
		Defaults: defaults(),
		Check:    func(setup plugin.Setup, o Options) error { return o.check(setup.Split) },
		New:      newEnvironment,
	}
}
