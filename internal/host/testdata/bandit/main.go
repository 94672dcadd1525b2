// Command bandit is a plug-in with a policy that learns, for the tests of the host.
package main

import (
	"github.com/merit-rl/merit/internal/host/testdata/bandit/bandit"
	"github.com/merit-rl/merit/sdk/plugin"
)

func main() { plugin.ServePolicy(bandit.Definition()) }
