package host

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/host/disk"
	"github.com/merit-rl/merit/internal/host/internal/process"
	"github.com/merit-rl/merit/internal/wire"
)

// Config says which plug-in to start and how.
type Config struct {
	// Path is that of the plug-in: a binary, a Python file, or a folder with a
	// manifest. Find turns a name into one.
	Path string `yaml:"path" json:"path"`
	// Args are arguments behind those of its own command.
	Args []string `yaml:"args,omitempty" json:"args,omitempty"`
	// Digest, if set, is the hexadecimal SHA-256 that the plug-in must have
	// at every start; see Digest.
	Digest string `yaml:"digest,omitempty" json:"digest,omitempty"`
	// Allow, if not nil, lists the digests, as sha256:…, of which it must have
	// one.
	Allow []string `yaml:"-" json:"-"`
	// Env is added to the few variables that a plug-in gets, as KEY=value.
	// Nothing else of the host's environment is inherited.
	Env []string `yaml:"env,omitempty" json:"env,omitempty"`
	// PassEnv names variables of Merit's own environment that the plug-in gets
	// too. Each must be set. Their values are taken out of what it prints and of
	// the errors that it gives; what it shows in observations is its own affair.
	PassEnv []string `yaml:"pass_env,omitempty" json:"pass_env,omitempty"`
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
	// GRPCOnly offers the plug-in no lane: batches go through gRPC's Run, as
	// those of a plug-in that takes none.
	GRPCOnly bool `yaml:"-" json:"-"`
	// Log receives what the plug-in prints (debug) and that it prints too
	// much (warn); nil discards both.
	Log *slog.Logger `yaml:"-" json:"-"`
	// Getenv reads Merit's own environment for PassEnv; nil is os.Getenv.
	Getenv func(string) string `yaml:"-" json:"-"`
}

// Limits bound a plug-in's process.
type Limits = process.Limits

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
	positive(&p, "start_timeout", c.StartTimeout, "10s")
	positive(&p, "batch_deadline", c.BatchDeadline, "2s")
	positive(&p, "reset_deadline", c.ResetDeadline, "10s")
	validateLimits(&p, c.Limits)
	validateOptions(&p, c.Options)
	variables{c.PassEnv, c.Getenv}.validate(&p)
	return p
}

func positive(p *fault.Problems, key string, got time.Duration, good string) {
	p.Check(got > 0, key, got, "use a positive duration; "+good+" is enough for most plug-ins")
}

func validateLimits(p *fault.Problems, l Limits) {
	if m := l.Memory; m != 0 && m < 64<<20 {
		p.Invalid("limits.memory", fmt.Sprintf("%d bytes is too little for any process", m), "give at least 64 MiB, or 0 for no limit")
	}
	if f := l.Files; f != 0 && f < 32 {
		p.Invalid("limits.files", fmt.Sprintf("%d open files are too few for gRPC", f), "give at least 32, or 0 for no limit")
	}
	p.AtLeast("limits.cpu", l.CPU, 0)
	p.Check(l.CPUTime == 0 || l.CPUTime >= time.Second, "limits.cpu_time", l.CPUTime, "use whole seconds, or 0 for no limit")
	p.Check(l.Output >= 0, "limits.output", l.Output, "1048576 is a good number; 0 for no limit")
}

func validateOptions(p *fault.Problems, options json.RawMessage) {
	if options != nil && !json.Valid(options) {
		p.Invalid("options", "is not JSON", "give a mapping of the plug-in's options")
	}
}

// launch is how the plug-in is started.
func (c Config) launch() *launch {
	l := &launch{
		path: c.Path, args: c.Args, expect: disk.Expectation{Digest: c.Digest, Allow: c.Allow}, env: slices.Clone(c.Env),
		timeout: c.StartTimeout, describe: describeDeadline, limits: c.Limits, log: c.Log,
	}
	l.pass(variables{c.PassEnv, c.Getenv})
	return l
}
