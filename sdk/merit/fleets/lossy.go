package fleets

import (
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
)

// lostText says that a worker was in trouble with an order, and another might not
// be. It goes from worker to coordinator in the text of an error.
const lostText = "an episode was lost where it was played"

// lostHere is the error of an order of which episodes were lost in this process.
func lostHere(groups []*rl.Group) error {
	why := ""
	for _, g := range groups {
		for _, t := range g.Trajectories {
			if why == "" {
				why = t.Error
			}
		}
	}
	return &fault.Error{
		Boundary: fault.Fleet, Kind: fault.Crashed, Where: "order", What: lostText + ": " + why,
		Hint: "it is tried again, by another worker if there is one; look for what this machine lacks, such as memory",
	}
}

// lossy reports whether a shard was given up of which its last worker said that it
// was in trouble. It is asked for once more: what is lost then is lost, and the
// other episodes of the shard are not.
func lossy(err error) bool { return strings.Contains(err.Error(), lostText) }
