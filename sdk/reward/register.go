package reward

// registered is the module's reward. It is a variable because Go's c-shared modules
// run package initializers but never main.
var registered func(*Rollout, *Output)

// Register makes score the reward of the module. Call it once, in an init
// function.
func Register(score func(*Rollout) Result) {
	RegisterStream(func(r *Rollout, out *Output) { out.Result(score(r)) })
}

// RegisterStream makes stream the reward of the module. stream must set a score
// unless it calls Invalid or Error.
func RegisterStream(stream func(*Rollout, *Output)) {
	if registered != nil {
		panic("reward: registered twice")
	}
	registered = stream
}
