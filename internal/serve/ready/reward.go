package ready

import (
	"context"
	"encoding/json"
	"time"

	"github.com/merit-rl/merit/core/reward"
)

// Options say how a stored reward is opened. Zero fields are the defaults of
// the version (Function, With, Batch), the tenant or the server.
type Options struct {
	Function  string          // of a script that has several
	With      json.RawMessage // parameters, a JSON object; nil is none
	Batch     string          // of a script that takes lists: group, or how many trajectories one call scores
	Fuel      uint64          // of one evaluation
	MemoryMiB int             // of one evaluation
	WallClock time.Duration   // of one evaluation
}

// Loader opens rewards: gate, compiler and a run on a built-in conversation.
// Implementations bound Options by the tenant's limits, and keep what tenants
// run apart. The error is a *fault.Error, or several joined: every problem.
type Loader interface {
	// Load opens the file or folder at path, which is read before it returns.
	Load(ctx context.Context, tenant, path string, o Options) (Reward, error)
}

// Reward is an open reward. It is a reward.GroupScorer too if it compares the
// members of a group.
type Reward interface {
	reward.Scorer
	// Manifest is what it says about itself; it marshals to JSON.
	Manifest() any
	// Close frees it; no evaluation is running.
	Close(ctx context.Context)
}
