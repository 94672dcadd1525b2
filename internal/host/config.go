package host

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/prefix"
	"github.com/merit-rl/merit/internal/host/disk"
	"github.com/merit-rl/merit/internal/host/internal/process"
	"github.com/merit-rl/merit/internal/wire"
	"github.com/merit-rl/merit/sandbox"
)

// Program names a plug-in in a configuration.
type Program struct {
	// Plugin is the name of a plug-in, or a path (with a slash) relative to the
	// configuration file.
	Plugin string `yaml:"plugin" json:"plugin"`
	// Args are arguments that follow those of the plug-in's own command.
	Args []string `yaml:"args" json:"args"`
	// Digest, if set, is the SHA-256 that the plug-in must have each time it starts.
	Digest string `yaml:"digest" json:"digest"`
	// Env is added to the few variables that a plug-in gets, as KEY=value. The plug-in
	// inherits nothing else from Merit's own environment.
	Env []string `yaml:"env" json:"env"`
	// PassEnv names variables of Merit's own environment, such as API keys, that the
	// plug-in gets too. Each must be set. Merit removes their values from the plug-in's
	// output and errors and never writes them anywhere. It does not remove them from
	// observations.
	PassEnv []string `yaml:"pass_env" json:"pass_env" resume:"free"`
}

// Choice returns the plug-in that one of two keys names: its path or name, and whether
// it is the path of a module.
func Choice(plugin, module string) (path string, isModule bool) {
	if module == "" {
		return plugin, false
	}
	if !filepath.IsAbs(module) && !strings.HasPrefix(module, "./") && !strings.HasPrefix(module, "../") {
		module = "./" + module
	}
	if !disk.IsModule(module) {
		module = disk.Sandbox + module
	}
	return module, true
}

// modules lists the extensions of what the sandbox runs; a folder has none.
var modules = []string{".wasm", ".py", ".js", ""}

// CheckModule reports a module beside a plug-in, or one that has another name than a module.
func CheckModule(p *fault.Problems, key, plugin, module string) {
	switch {
	case module == "":
	case plugin != "":
		p.Invalid(key+"module", "names a second environment beside plugin", "remove one of the two")
	case !slices.Contains(modules, filepath.Ext(module)) || disk.IsModule(module) && filepath.Ext(module) != ".wasm":
		p.Invalid(key+"module", fmt.Sprintf("%q is not the path of a WebAssembly file (.wasm), a file in Python (.py) or JavaScript (.js), or a folder", module), "use plugin for a program")
	}
}

// Start holds what Merit needs to start any plug-in.
type Start struct {
	Program `yaml:",inline"`
	// Path is the path of the plug-in: a binary, a Python file, or a folder with a
	// manifest. Find turns a name into a path.
	Path string `yaml:"-" json:"-"`
	// Allow, if not nil, lists the allowed digests, as sha256:…; the plug-in must have
	// one of them.
	Allow []string `yaml:"-" json:"-"`
	// Options is the JSON object with the plug-in's own options.
	Options json.RawMessage `yaml:"-" json:"-"`
	// StartTimeout bounds the start up to the handshake. Each call that asks a plug-in
	// for its description may take as long again.
	StartTimeout time.Duration `yaml:"start_timeout" json:"start_timeout" jsonschema:"exclusiveMinimum=0" hint:"use a positive duration; 10s is enough for most plug-ins, 1m for Python on a busy machine"`
	// Limits bound the process's resources.
	Limits Limits `yaml:"limits" json:"limits"`
	// Log receives what the plug-in prints (debug) and a warning if it prints too much;
	// nil discards both.
	Log *slog.Logger `yaml:"-" json:"-"`
	// Getenv reads Merit's own environment for PassEnv; nil is os.Getenv.
	Getenv func(string) string `yaml:"-" json:"-"`
}

// Config selects the plug-in of an environment and how to start it.
type Config struct {
	Start `yaml:",inline"`
	// Split is the split of the tasks to play: train, validation or test.
	Split string `yaml:"-" json:"-"`
	// Slots is how many slots step together in one batch.
	Slots int `yaml:"slots" json:"slots"`
	// BatchDeadline is how long a batch may take. For a plug-in that is always slow,
	// Merit raises it to up to 20 times the 99th percentile of its batches.
	BatchDeadline time.Duration `yaml:"batch_deadline" json:"batch_deadline" jsonschema:"exclusiveMinimum=0" hint:"use a positive duration; 2s is enough for most plug-ins"`
	// ResetDeadline is the same for a batch that contains a reset.
	ResetDeadline time.Duration `yaml:"reset_deadline" json:"reset_deadline" jsonschema:"exclusiveMinimum=0" hint:"use a positive duration; 10s is enough for most plug-ins"`
	// Sandbox limits an environment that is a WebAssembly module, instead of Limits and
	// the deadlines.
	Sandbox sandbox.Config `yaml:"-" json:"-"`
	// GRPCOnly sends batches through gRPC's Run even if the plug-in supports a
	// shared-memory lane.
	GRPCOnly bool `yaml:"-" json:"-"`
}

// Limits bound a plug-in's process.
type Limits = process.Limits

// DefaultConfig returns the default settings.
func DefaultConfig() Config {
	return Config{
		Start: Start{StartTimeout: 10 * time.Second, Limits: Limits{Memory: 2 << 30, Files: 256, Output: 1 << 20}},
		Slots: 64, Split: "train", BatchDeadline: 2 * time.Second, ResetDeadline: 10 * time.Second,
		Sandbox: cached(),
	}
}

// cached is the default sandbox with the user's cache of compiled modules.
func cached() sandbox.Config {
	c := sandbox.DefaultConfig()
	c.CacheDir = prefix.Cache(os.Getenv)
	return c
}

// Validate returns all problems of c.
func (c Config) Validate() []error {
	p := fault.Validate(&c)
	p.Whole("slots", c.Slots, 1, wire.MaxSlots)
	return p
}

// Validate returns all problems of s, including variables that are not set.
func (s *Start) Validate() []error {
	p := fault.Validate(s)
	if s.Options != nil && !json.Valid(s.Options) {
		p.Invalid("options", "is not JSON", "give a mapping of the plug-in's options")
	}
	variables{s.PassEnv, s.Getenv}.validate(&p)
	if disk.IsModule(s.Path) {
		s.alone(&p)
	}
	return p
}

// alone reports what only a process can get.
func (s *Start) alone(p *fault.Problems) {
	const hint = "remove it, or make it one of the environment's options"
	p.Check(len(s.Args) == 0, "args", s.Args, "a module gets no arguments: "+hint)
	p.Check(len(s.Env) == 0, "env", s.Env, "a module gets no variables: "+hint)
	p.Check(len(s.PassEnv) == 0, "pass_env", s.PassEnv, "a module gets no variables: "+hint)
}

// launch returns how to start the plug-in. Describe bounds each call that asks for its
// description.
func (s *Start) launch(describe time.Duration) *launch {
	l := &launch{
		path: s.Path, args: s.Args, expect: disk.Expectation{Digest: s.Digest, Allow: s.Allow}, env: slices.Clone(s.Env),
		timeout: s.StartTimeout, describe: describe, limits: s.Limits, log: s.Log,
	}
	l.pass(variables{s.PassEnv, s.Getenv})
	return l
}
