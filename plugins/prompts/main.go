// Command prompts is an environment plug-in for language models: a prompt, one
// reply, and the episode is over. The prompts stand in a file of text, split
// by blank lines, and what they ask for is an option. The environment gives no
// reward of its own: that is for a reward module or a judge.
//
// It is written against sdk/plugin only, as anybody's would be.
package main

import "github.com/merit-rl/merit/sdk/plugin"

func main() { plugin.Serve(definition()) }

func definition() plugin.Definition[Options] {
	return plugin.Definition[Options]{
		Name:     "prompts",
		Version:  "1.0.0",
		Summary:  "One prompt of a file of text, one reply; for language models.",
		Defaults: defaults(),
		Check:    func(setup plugin.Setup, o Options) error { return o.check(setup.Split) },
		New:      newEnvironment,
	}
}
