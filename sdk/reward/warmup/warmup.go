// Package warmup is for rewards whose first evaluation is expensive because it
// fills tables or compiles expressions. Every evaluation begins from the state that
// the registered function leaves. Importing the package replaces the built-in
// conversation with which the sandbox warms up other rewards.
package warmup

// registered is the module's warm-up; see reward.Register.
var registered func()

// Register makes ready the warm-up of the module. It runs once, after all init
// functions and before the snapshot. It may log but must not send results; if it
// panics, the module is rejected. Call Register once, in an init function.
func Register(ready func()) {
	if registered != nil {
		panic("warmup: registered twice")
	}
	registered = ready
}
