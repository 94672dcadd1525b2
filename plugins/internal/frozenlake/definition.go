// Package frozenlake is the environment plug-in frozenlake: cross the ice to the goal and
// fall into no hole, on slippery ice if you like.
//
// Lakes are drawn from seeds, each with a way through, or are Gymnasium's by
// name or one's own. The splits train, validation and test share no lake that
// is drawn, not even mirrored. The reward is 1 at the goal and 0 otherwise.
//
// It uses only sdk/plugin, as any other plug-in would.
package frozenlake

import "github.com/merit-rl/merit/sdk/plugin"

// Definition returns the definition of the plug-in.
func Definition() plugin.Definition[Options] {
	return plugin.Definition[Options]{
		Name:     "frozenlake",
		Version:  "1.0.0",
		Summary:  "Cross the ice to the goal and fall into no hole; lakes drawn from seeds, or Gymnasium's.",
		Defaults: defaults(),
		Check:    func(setup plugin.Setup, o Options) error { return o.check(setup.Split) },
		New:      newEnvironment,
	}
}
