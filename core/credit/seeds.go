package credit

// Branches of a run's seed: the first label of every path from it. Those of
// one iteration follow with its number.
const (
	SeedPolicy     uint64 = iota + 1 // the untrained policy's parameters
	SeedTrain                        // starts and decisions of training
	SeedUpdate                       // the learner's shuffles
	SeedValidation                   // starts and decisions of every validation
	SeedTest                         // starts and decisions of the final table
	SeedCheck                        // starts of the episodes that a reward is tried on before a run

	// SeedRollout is the branch of rollouts outside a run: their seeds differ from
	// all seeds of training.
	SeedRollout uint64 = 1 << 32
)
