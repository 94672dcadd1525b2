// Package serving assembles a reward server from its parts: tenants, stored rewards, each
// tenant's sandboxes, the listener and its certificates.
package serving

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/merit-rl/merit/core/config"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/httpd"
	"github.com/merit-rl/merit/internal/httpd/certificates"
	"github.com/merit-rl/merit/internal/serve"
	"github.com/merit-rl/merit/internal/serve/library"
	"github.com/merit-rl/merit/internal/serve/ready"
	"github.com/merit-rl/merit/internal/serve/shape"
	"github.com/merit-rl/merit/sandbox"
)

// Config is the configuration of a server.
type Config struct {
	// Listen is the address of the server: HOST:PORT, or unix:PATH for a socket that only this
	// user can open.
	Listen string `yaml:"listen" json:"listen"`
	// Connections is the largest number of simultaneous connections. More wait until one
	// closes.
	Connections int `yaml:"connections" json:"connections" jsonschema:"minimum=1,maximum=1048576"`
	// Dir is the folder for tenants' uploads. Only one server can use it at a time.
	Dir string `yaml:"dir" json:"dir"`
	// Tenants is the tenants file. Without one, there is a single tenant, local, who needs no
	// key, and the server listens only on this machine.
	Tenants string `yaml:"tenants" json:"tenants"`
	// Operators are the tenants whose keys can read the metrics of all tenants.
	Operators []string `yaml:"operators" json:"operators"`
	// TLS names the certificates. Without them the server uses plain HTTP.
	TLS certificates.Files `yaml:"tls" json:"tls"`
	// Rewards are the operator's rewards, which every tenant can use.
	Rewards []Reward `yaml:"rewards" json:"rewards"`
	// DefaultReward is the reward for other tools' paths that name none, such as /evaluate,
	// /get_reward and /verify.
	DefaultReward string `yaml:"default_reward" json:"default_reward"`
	// OnUnscored is what those paths return for a trajectory without a score: error, null or a
	// number.
	OnUnscored OnUnscored `yaml:"on_unscored" json:"on_unscored"`
	// Slots is how many evaluations run at the same time, over all tenants. 0 means one per
	// CPU. Every tenant's first evaluation starts at once, even beyond this number.
	Slots int `yaml:"slots" json:"slots" jsonschema:"minimum=0"`
	// Limits are the limits of requests.
	Limits serve.Limits `yaml:"limits" json:"limits"`
	// Most holds the highest limits that a request may ask for, unless those of its tenant are
	// lower.
	Most ready.Most `yaml:"most" json:"most"`
	// Open limits how many rewards are ready to run.
	Open Ready `yaml:"open" json:"open"`
	// Drain is how long the server may take to answer accepted requests after SIGTERM.
	Drain time.Duration `yaml:"drain" json:"drain" jsonschema:"minimum=1ms" hint:"write a duration of at least 1ms, such as 1m"`
	// Accounting is the file that records usage by key. If empty, usage is not recorded.
	Accounting string `yaml:"accounting" json:"accounting"`
	// AccountingEvery is how often usage is written to it.
	AccountingEvery time.Duration `yaml:"accounting_every" json:"accounting_every" jsonschema:"minimum=1ms" hint:"write a duration of at least 1ms, such as 1m"`
	// Sandbox limits what an evaluation may use, unless the request or the tenant sets other
	// limits. If isolation is empty, it is process if other machines can reach the server, and
	// snapshot otherwise.
	Sandbox sandbox.Config `yaml:"sandbox" json:"sandbox"`

	// Places records where each value was set.
	Places config.Places `yaml:"-" json:"-"`
}

// OnUnscored is error, null or a number, as text.
type OnUnscored string

// UnmarshalText checks and sets the value.
func (o *OnUnscored) UnmarshalText(text []byte) error {
	_, err := shape.ParseOnUnscored(string(text))
	*o = OnUnscored(text)
	return err
}

// Reward is a reward that the operator provides to every tenant.
type Reward struct {
	// Name is the name that requests use.
	Name string `yaml:"name" json:"name"`
	// Module is a WASM file, a script or a script's folder. A colon and the name of the
	// function that scores may follow.
	Module string `yaml:"module" json:"module"`
	// With are parameters for the function.
	With map[string]any `yaml:"with,omitempty" json:"with,omitempty"`
}

// Ready limits the rewards that are ready to run. Each uses the memory of one instance per
// worker.
type Ready struct {
	// Each is the largest number for one tenant.
	Each int `yaml:"each" json:"each" jsonschema:"minimum=1,maximum=10000"`
	// All is the largest number for all tenants together.
	All int `yaml:"all" json:"all" jsonschema:"minimum=1,maximum=100000"`
	// Idle is how long an unused reward stays ready.
	Idle time.Duration `yaml:"idle" json:"idle" jsonschema:"minimum=1ms" hint:"write a duration of at least 1ms, such as 1m"`
	// Sandboxes is the largest number of sandboxes of one tenant. There is one for each
	// combination of limits. With isolation: process, each has its own worker processes.
	Sandboxes int `yaml:"sandboxes" json:"sandboxes" jsonschema:"minimum=1,maximum=1000"`
}

// DefaultConfig returns the configuration of a server for this machine, without tenants.
func DefaultConfig() *Config {
	s := sandbox.DefaultConfig()
	s.Isolation = ""
	return &Config{
		Listen: "127.0.0.1:8700", Connections: 4096, Dir: "merit-rewards", OnUnscored: "error", Drain: time.Minute, AccountingEvery: time.Minute,
		Most:    ready.Most{Fuel: 10_000_000_000, MemoryMiB: 512, WallClock: 3 * time.Minute},
		Open:    Ready{Each: 16, All: 128, Idle: 15 * time.Minute, Sandboxes: 4},
		Sandbox: s,
	}
}

// Schema returns the JSON Schema of the server's configuration, for editors.
func Schema() ([]byte, error) { return config.Schema("Merit server configuration", DefaultConfig()) }

// Load reads the configuration at path, applies overrides of the form key.path=value, and
// checks the result. The error joins every problem, each with file, line and key. Relative
// paths become relative to the working directory.
func Load(path string, overrides ...string) (_ *Config, err error) {
	c := DefaultConfig()
	c.Places, err = config.Load(c, path, overrides...)
	return c, err
}

// Parse does the same as Load for text from source. Paths in the text are relative to dir.
func Parse(source string, text []byte, dir string, overrides ...string) (_ *Config, err error) {
	c := DefaultConfig()
	c.Places, err = config.Parse(c, source, text, dir, overrides...)
	return c, err
}

// EachPath replaces every path in c.
func (c *Config) EachPath(replace func(string) string) {
	paths := []*string{&c.Dir, &c.Tenants, &c.Accounting, &c.Sandbox.CacheDir, &c.Sandbox.InterpreterDir}
	paths = append(paths, c.TLS.Paths()...)
	for i := range c.Rewards {
		paths = append(paths, &c.Rewards[i].Module)
	}
	for _, path := range paths {
		if *path != "" {
			*path = replace(*path)
		}
	}
	if socket, ok := strings.CutPrefix(c.Listen, "unix:"); ok && socket != "" {
		c.Listen = "unix:" + replace(socket)
	}
}

// Local reports whether only this machine can reach the server: it listens on a socket or on a
// loopback address. Host names are not resolved.
func (c *Config) Local() bool {
	if strings.HasPrefix(c.Listen, "unix:") {
		return true
	}
	return httpd.Loopback(c.Listen)
}

// Isolation returns the isolation that applies.
func (c *Config) Isolation() sandbox.Isolation {
	switch {
	case c.Sandbox.Isolation != "":
		return c.Sandbox.Isolation
	case c.Local():
		return sandbox.Snapshot
	}
	return sandbox.Process
}

// with returns a reward's parameters as JSON.
func (r Reward) with() (json.RawMessage, error) {
	if len(r.With) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(r.With)
	if err != nil {
		return nil, &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: "rewards." + r.Name + ".with", What: "cannot be converted to JSON", Err: err, Hint: "use texts, numbers, lists and maps"}
	}
	return text, nil
}

// ref checks the reference of the default reward.
func (c *Config) ref() error {
	if c.DefaultReward == "" {
		return nil
	}
	_, err := library.ParseRef(c.DefaultReward)
	return err
}

// Warnings returns doubtful settings in a valid configuration.
func (c *Config) Warnings() (list []*fault.Error) {
	warn := func(key, what, hint string) {
		list = append(list, &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: c.Places.Of(key), What: what, Hint: hint})
	}
	if c.Local() {
		if c.Tenants != "" && c.Sandbox.Isolation == "" {
			warn("tenants", "the rewards of all tenants run in the server's own process, because only this machine can reach the server", "set sandbox.isolation: process if tenants do not trust each other, for example behind a proxy, or snapshot if they do")
		}
		return list
	}
	if i := c.Isolation(); i != sandbox.Process {
		warn("sandbox.isolation", fmt.Sprintf("isolation %s runs the rewards of all tenants in the server's own process", i), "remove it: other machines can reach this server, and the default, process, adds an operating-system sandbox around each tenant")
	}
	if c.TLS.Cert == "" {
		warn("listen", "keys and rewards cross the network unencrypted", "set tls.cert and tls.key, or listen on 127.0.0.1 behind a proxy with TLS")
	}
	return list
}
