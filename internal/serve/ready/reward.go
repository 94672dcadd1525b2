package ready

import (
	"context"
	"encoding/json"
	"time"

	"github.com/merit-rl/merit/core/reward"
)

// Options determine how a stored reward is opened. Zero fields use the defaults of the version
// (Function, With, Batch), the tenant or the server.
type Options struct {
	Function  string          // which function of a script that has several
	With      json.RawMessage // parameters, a JSON object; nil means none
	Batch     string          // for a script that takes lists: group, or how many trajectories one call scores
	Fuel      uint64          // for one evaluation
	MemoryMiB int             // for one evaluation
	WallClock time.Duration   // for one evaluation
}

// Loader opens rewards: it checks and compiles the module and runs it on a built-in
// conversation. Implementations apply the tenant's limits and isolate tenants from each other.
// The error is a *fault.Error, or several joined.
type Loader interface {
	// Load opens the file or folder at path. It has read them when it returns.
	Load(ctx context.Context, tenant, path string, o Options) (Reward, error)
}

// Reward is an open reward. It is also a reward.GroupScorer if it compares the members of a
// group.
type Reward interface {
	reward.Scorer
	// Manifest returns the reward's manifest, which can be marshaled to JSON.
	Manifest() any
	// Close frees the reward. Call it when no evaluation is running.
	Close(ctx context.Context)
}
