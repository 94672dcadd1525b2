package trace

// Variable is the environment variable that names the store of traces if nothing
// else does, and File is the store if nothing names it.
const (
	Variable = "MERIT_TRACES"
	File     = "traces.db"
)
