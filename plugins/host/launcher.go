package host

// Launcher starts one plug-in as often as it is asked to, and remembers how
// often it died: after three deaths within a minute it waits longer and longer
// before the next start, and in the end refuses. It is safe for concurrent use.
type Launcher struct {
	cfg Config
}

// NewLauncher returns a launcher of cfg's plug-in. Nothing is started yet.
func NewLauncher(cfg Config) *Launcher { return &Launcher{cfg: cfg} }
