package rollout

import (
	"strconv"
	"time"

	"github.com/merit-rl/merit/core/rl"
)

// Plan says which episodes to collect. Group i of the plan has the number
// g = FirstGroup + i; its environment seed is Seed.Path(g), and the randomness
// of a decision is Seed.Path(g, member, step).
type Plan struct {
	Seed       rl.Seed
	FirstGroup int
	Groups     int    // 0 means Config.Groups
	Members    int    // 0 means Config.Members
	Prefix     string // begins the ids of groups and trajectories
	Greedy     bool   // the policy takes its likeliest actions
}

// GroupID returns the id of group g, such as "train-3-g17".
func (p Plan) GroupID(g int) string { return p.Prefix + "g" + strconv.Itoa(g) }

// TrajectoryID returns the id of a member of group g, such as
// "train-3-g17-m0".
func (p Plan) TrajectoryID(g, member int) string {
	return p.GroupID(g) + "-m" + strconv.Itoa(member)
}

// Progress is how far a collection is. Calls are serialised; the order in
// which episodes finish is the only thing about them that may differ between
// runs.
type Progress struct {
	Episodes  int // decided so far, failed ones among them
	Total     int
	Steps     int // of the decided episodes
	Successes int // episodes that terminated with a positive environment reward on the last step
	Failed    int // episodes that ended with rl.StopError
	Restarts  int // environments opened again after a fault
}

// Stats describes a collection that is over. It is for people and reports:
// Retried, Restarts and Elapsed are not part of what a seed determines.
type Stats struct {
	Progress
	Retried int // attempts that a fault destroyed
	Elapsed time.Duration
}
