// Package mcp is the environment plug-in mcp: the tools of an MCP server, which a policy calls
// to solve the tasks of a data file. Each slot has its own session, and each episode its own
// process of the server, so that episodes do not see each other's changes. Answers are
// recorded and replayed, so that training on them is deterministic.
//
// The environment gives no reward. A reward module sees the calls and their results as the
// messages of the conversation, and in the info mcp of each step.
package mcp

import "github.com/merit-rl/merit/sdk/plugin"

// Definition returns the definition of the plug-in.
func Definition() plugin.Definition[Options] {
	return plugin.Definition[Options]{
		Name:     "mcp",
		Version:  "1.0.0",
		Summary:  "The tools of any MCP server, live, recorded or replayed.",
		Defaults: defaults(),
		Check:    func(setup plugin.Setup, o Options) error { return o.check(setup.Split) },
		Vector:   open,
	}
}
