package host

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/sdk/plugin/wire"
)

// Config says which plug-in to start and how.
type Config struct {
	// Path is the plug-in's binary; Find turns a name into one.
	Path string `yaml:"path" json:"path"`
	// Args are the arguments of the binary.
	Args []string `yaml:"args,omitempty" json:"args,omitempty"`
	// Digest, if set, is the hexadecimal SHA-256 that the binary must have
	// at every start; see Digest.
	Digest string `yaml:"digest,omitempty" json:"digest,omitempty"`
	// Env is added to the few variables that a plug-in gets, as KEY=value.
	// Nothing else of the host's environment is inherited.
	Env []string `yaml:"env,omitempty" json:"env,omitempty"`
	// Options is the JSON object for the plug-in's own options.
	Options json.RawMessage `yaml:"-" json:"-"`
	// Split is the share of the tasks to play: train, validation or test.
	Split string `yaml:"-" json:"-"`
	// Slots step together in one batch.
	Slots int `yaml:"slots" json:"slots"`
	// StartTimeout bounds the start up to the handshake; Describe and
	// Configure each have it once more.
	StartTimeout time.Duration `yaml:"start_timeout" json:"start_timeout"`
	// BatchDeadline is how long a batch may take. A plug-in whose batches
	// usually take long gets up to 20 times its 99th percentile.
	BatchDeadline time.Duration `yaml:"batch_deadline" json:"batch_deadline"`
	// ResetDeadline is the same for a batch with a reset in it.
	ResetDeadline time.Duration `yaml:"reset_deadline" json:"reset_deadline"`
	// Limits bound the process.
	Limits Limits `yaml:"limits" json:"limits"`
	// Log receives what the plug-in prints (debug) and that it prints too
	// much (warn); nil discards both.
	Log *slog.Logger `yaml:"-" json:"-"`
}

// Limits bound a plug-in's process. They are enforced on Linux only. Zero
// means no limit.
type Limits struct {
	// Memory is the private writable memory in bytes (RLIMIT_DATA).
	Memory uint64 `yaml:"memory" json:"memory"`
	// Files is the number of open files (RLIMIT_NOFILE).
	Files uint64 `yaml:"files" json:"files"`
	// Output is how many bytes a second the plug-in may print before its
	// writes block.
	Output int `yaml:"output" json:"output"`
}

// DefaultConfig returns the settings of a run that says nothing.
func DefaultConfig() Config {
	return Config{
		Slots:         64,
		Split:         "train",
		StartTimeout:  10 * time.Second,
		BatchDeadline: 2 * time.Second,
		ResetDeadline: 10 * time.Second,
		Limits:        Limits{Memory: 2 << 30, Files: 256, Output: 1 << 20},
	}
}

// Validate returns everything that is wrong with c.
func (c Config) Validate() []error {
	var p fault.Problems
	p.Whole("slots", c.Slots, 1, wire.MaxSlots)
	for _, d := range []struct {
		key  string
		is   time.Duration
		good string
	}{{"start_timeout", c.StartTimeout, "10s"}, {"batch_deadline", c.BatchDeadline, "2s"}, {"reset_deadline", c.ResetDeadline, "10s"}} {
		p.Check(d.is > 0, d.key, d.is, "use a positive duration; "+d.good+" is enough for most plug-ins")
	}
	if m := c.Limits.Memory; m != 0 && m < 64<<20 {
		p.Invalid("limits.memory", fmt.Sprintf("%d bytes is too little for any process", m), "give at least 64 MiB, or 0 for no limit")
	}
	if f := c.Limits.Files; f != 0 && f < 32 {
		p.Invalid("limits.files", fmt.Sprintf("%d open files are too few for gRPC", f), "give at least 32, or 0 for no limit")
	}
	p.Check(c.Limits.Output >= 0, "limits.output", c.Limits.Output, "1048576 is a good number; 0 for no limit")
	if c.Options != nil && !json.Valid(c.Options) {
		p.Invalid("options", "is not JSON", "give a mapping of the plug-in's options")
	}
	return p
}
