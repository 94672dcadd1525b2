package trace

// Variable is the environment variable that names the trace store if no flag or
// configuration does, and File is the default store.
const (
	Variable = "MERIT_TRACES"
	File     = "traces.db"
)
