// Package warmup is for rewards whose first evaluation is dear: tables to fill,
// expressions to compile. What the registered function does is part of the
// state that every evaluation begins from; importing the package takes the place
// of the built-in conversation that other rewards are warmed up with.
package warmup

// registered is the module's warm-up; see reward.Register.
var registered func()

// Register makes ready what runs once, after all init functions and before the
// snapshot. It may log and must send no results; a panic refuses the module. It
// is called once, from an init function.
func Register(ready func()) {
	if registered != nil {
		panic("warmup: registered twice")
	}
	registered = ready
}
