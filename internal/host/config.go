package host

import (
	"encoding/json"
	"log/slog"
	"slices"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/host/disk"
	"github.com/merit-rl/merit/internal/host/internal/process"
	"github.com/merit-rl/merit/internal/wire"
)

// Program is a plug-in as a configuration names it.
type Program struct {
	// Plugin is the name of a plug-in, or a path (with a slash) relative to the
	// configuration file.
	Plugin string `yaml:"plugin" json:"plugin"`
	// Args are arguments behind those of the plug-in's own command.
	Args []string `yaml:"args" json:"args"`
	// Digest, if set, is the SHA-256 that the plug-in must have at every start.
	Digest string `yaml:"digest" json:"digest"`
	// Env is added to the few variables that a plug-in gets, as KEY=value. Nothing
	// else of Merit's own environment is inherited.
	Env []string `yaml:"env" json:"env"`
	// PassEnv names variables of Merit's own environment that the plug-in gets
	// too, such as API keys. Each must be set. Their values are taken out of what it
	// prints and of its errors, and are never written anywhere; what it shows in
	// observations is its own affair.
	PassEnv []string `yaml:"pass_env" json:"pass_env" resume:"free"`
}

// Start is what every plug-in's process is started with.
type Start struct {
	Program `yaml:",inline"`
	// Path is that of the plug-in: a binary, a Python file, or a folder with a
	// manifest. Find turns a name into one.
	Path string `yaml:"-" json:"-"`
	// Allow, if not nil, lists the digests, as sha256:…, of which it must have
	// one.
	Allow []string `yaml:"-" json:"-"`
	// Options is the JSON object for the plug-in's own options.
	Options json.RawMessage `yaml:"-" json:"-"`
	// StartTimeout bounds the start up to the handshake; the calls that ask a
	// plug-in who it is each have it once more.
	StartTimeout time.Duration `yaml:"start_timeout" json:"start_timeout" jsonschema:"exclusiveMinimum=0" hint:"use a positive duration; 10s is enough for most plug-ins, 1m for Python on a busy machine"`
	// Limits bound the process.
	Limits Limits `yaml:"limits" json:"limits"`
	// Log receives what the plug-in prints (debug) and that it prints too
	// much (warn); nil discards both.
	Log *slog.Logger `yaml:"-" json:"-"`
	// Getenv reads Merit's own environment for PassEnv; nil is os.Getenv.
	Getenv func(string) string `yaml:"-" json:"-"`
}

// Config says which environment's plug-in to start and how.
type Config struct {
	Start `yaml:",inline"`
	// Split is the share of the tasks to play: train, validation or test.
	Split string `yaml:"-" json:"-"`
	// Slots step together in one batch.
	Slots int `yaml:"slots" json:"slots"`
	// BatchDeadline is how long a batch may take. A plug-in whose batches
	// usually take long gets up to 20 times its 99th percentile.
	BatchDeadline time.Duration `yaml:"batch_deadline" json:"batch_deadline" jsonschema:"exclusiveMinimum=0" hint:"use a positive duration; 2s is enough for most plug-ins"`
	// ResetDeadline is the same for a batch with a reset in it.
	ResetDeadline time.Duration `yaml:"reset_deadline" json:"reset_deadline" jsonschema:"exclusiveMinimum=0" hint:"use a positive duration; 10s is enough for most plug-ins"`
	// GRPCOnly offers the plug-in no lane: batches go through gRPC's Run, as
	// those of a plug-in that takes none.
	GRPCOnly bool `yaml:"-" json:"-"`
}

// Limits bound a plug-in's process.
type Limits = process.Limits

// DefaultConfig returns the settings of a run that says nothing.
func DefaultConfig() Config {
	return Config{
		Start: Start{StartTimeout: 10 * time.Second, Limits: Limits{Memory: 2 << 30, Files: 256, Output: 1 << 20}},
		Slots: 64, Split: "train", BatchDeadline: 2 * time.Second, ResetDeadline: 10 * time.Second,
	}
}

// Validate returns everything that is wrong with c.
func (c Config) Validate() []error {
	p := fault.Validate(&c)
	p.Whole("slots", c.Slots, 1, wire.MaxSlots)
	return p
}

// Validate returns everything that is wrong with s, variables that are not set
// among it.
func (s *Start) Validate() []error {
	p := fault.Validate(s)
	if s.Options != nil && !json.Valid(s.Options) {
		p.Invalid("options", "is not JSON", "give a mapping of the plug-in's options")
	}
	variables{s.PassEnv, s.Getenv}.validate(&p)
	return p
}

// launch is how the plug-in is started; the calls that ask it who it is have so long.
func (s *Start) launch(describe time.Duration) *launch {
	l := &launch{
		path: s.Path, args: s.Args, expect: disk.Expectation{Digest: s.Digest, Allow: s.Allow}, env: slices.Clone(s.Env),
		timeout: s.StartTimeout, describe: describe, limits: s.Limits, log: s.Log,
	}
	l.pass(variables{s.PassEnv, s.Getenv})
	return l
}
