package warmup

//go:wasmexport merit_warm_up
func meritWarmUp() {
	if registered == nil {
		panic("no warm-up is registered: call warmup.Register in an init function")
	}
	registered()
}
