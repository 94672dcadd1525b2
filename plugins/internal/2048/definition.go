// Package tiles is the environment plug-in 2048: slide the tiles, join equal ones, keep
// the board from filling up.
//
// A game is a function of its seed and its moves. The splits train, validation
// and test share no start, not even turned or mirrored. The reward of a move is
// what it joined.
//
// It is written against sdk/plugin only, as anybody's would be.
package tiles

import "github.com/merit-rl/merit/sdk/plugin"

// Definition is what the plug-in offers.
func Definition() plugin.Definition[Options] {
	return plugin.Definition[Options]{
		Name:     "2048",
		Version:  "1.0.0",
		Summary:  "Slide the tiles and join equal ones until the board is full.",
		Defaults: defaults(),
		Check:    func(setup plugin.Setup, o Options) error { return o.check(setup.Split) },
		New:      newEnvironment,
	}
}
