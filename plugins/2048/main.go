// Command 2048 is an environment plug-in: slide the tiles, join equal ones, keep
// the board from filling up.
//
// A game is a function of its seed and its moves. The splits train, validation
// and test share no start, not even turned or mirrored. The reward of a move is
// what it joined.
//
// It is written against sdk/plugin only, as anybody's would be.
package main

import "github.com/merit-rl/merit/sdk/plugin"

func main() { plugin.Serve(definition()) }

func definition() plugin.Definition[Options] {
	return plugin.Definition[Options]{
		Name:     "2048",
		Version:  "1.0.0",
		Summary:  "Slide the tiles and join equal ones until the board is full.",
		Defaults: defaults(),
		Check:    func(setup plugin.Setup, o Options) error { return o.check(setup.Split) },
		New:      newEnvironment,
	}
}
