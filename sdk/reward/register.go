package reward

// registered is the module's reward: Go's c-shared modules run package
// initialisers and never main, so it cannot be handed over in another way.
var registered func(*Rollout, *Output)

// Register makes score the reward of the module. It is called once, from an
// init function.
func Register(score func(*Rollout) Result) {
	RegisterStream(func(r *Rollout, out *Output) { out.Result(score(r)) })
}

// RegisterStream makes stream the reward of the module. Without a call of
// Invalid or Error it must set a score.
func RegisterStream(stream func(*Rollout, *Output)) {
	if registered != nil {
		panic("reward: registered twice")
	}
	registered = stream
}
