// Package serving assembles a server of rewards: who may ask, what they have
// stored, sandboxes of each tenant's own, the listener and its certificates.
// The command's verb is flags and a call of it.
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
	// Listen is where the server listens: HOST:PORT, or unix:PATH for a socket
	// that only this user may open.
	Listen string `yaml:"listen" json:"listen"`
	// Connections is how many there are at one time; more wait until one ends.
	Connections int `yaml:"connections" json:"connections" jsonschema:"minimum=1,maximum=1048576"`
	// Dir keeps what tenants upload. One server uses it at a time.
	Dir string `yaml:"dir" json:"dir"`
	// Tenants is the tenants' file. Without one there is one tenant, local, who
	// needs no key; then the server listens on this machine only.
	Tenants string `yaml:"tenants" json:"tenants"`
	// Operators are the tenants whose keys see the metrics of all.
	Operators []string `yaml:"operators" json:"operators"`
	// TLS has the certificates. Without them the server speaks plain HTTP.
	TLS certificates.Files `yaml:"tls" json:"tls"`
	// Rewards are the operator's, which every tenant can use.
	Rewards []Reward `yaml:"rewards" json:"rewards"`
	// DefaultReward is the reward of the paths of other tools that name none, such
	// as /evaluate, /get_reward and /verify.
	DefaultReward string `yaml:"default_reward" json:"default_reward"`
	// OnUnscored is what those paths answer for a trajectory without a score:
	// error, null, or a number.
	OnUnscored OnUnscored `yaml:"on_unscored" json:"on_unscored"`
	// Slots is how many evaluations run at one time, all tenants together; 0 is
	// one for each processor. Every tenant gets its first at once, beyond it.
	Slots int `yaml:"slots" json:"slots" jsonschema:"minimum=0"`
	// Limits bound requests.
	Limits serve.Limits `yaml:"limits" json:"limits"`
	// Most is what a request may ask for at most, where its tenant's limits do not
	// say less.
	Most ready.Most `yaml:"most" json:"most"`
	// Open bounds the rewards that are ready to run.
	Open Ready `yaml:"open" json:"open"`
	// Drain is how long the server answers what it has accepted after SIGTERM.
	Drain time.Duration `yaml:"drain" json:"drain" jsonschema:"minimum=1ms" hint:"write a duration of at least 1ms, such as 1m"`
	// Accounting is the file of usage by key; empty keeps none.
	Accounting string `yaml:"accounting" json:"accounting"`
	// AccountingEvery is how often it is written.
	AccountingEvery time.Duration `yaml:"accounting_every" json:"accounting_every" jsonschema:"minimum=1ms" hint:"write a duration of at least 1ms, such as 1m"`
	// Sandbox bounds what an evaluation may use, unless the request or the tenant's
	// limits say otherwise. An empty isolation is process where others than this
	// machine can reach the server, and snapshot where they cannot.
	Sandbox sandbox.Config `yaml:"sandbox" json:"sandbox"`

	// Places says where each value was set.
	Places config.Places `yaml:"-" json:"-"`
}

// OnUnscored is error, null or a number, as a word.
type OnUnscored string

// UnmarshalText reads the word.
func (o *OnUnscored) UnmarshalText(text []byte) error {
	_, err := shape.ParseOnUnscored(string(text))
	*o = OnUnscored(text)
	return err
}

// Reward is one that the operator gives to every tenant.
type Reward struct {
	// Name is what requests call it.
	Name string `yaml:"name" json:"name"`
	// Module is a WASM file, a script, or a script's folder; behind a colon, the
	// function that scores.
	Module string `yaml:"module" json:"module"`
	// With are parameters for the function.
	With map[string]any `yaml:"with,omitempty" json:"with,omitempty"`
}

// Ready bounds rewards that are ready to run: each takes the memory of an
// instance for every worker.
type Ready struct {
	// Each is how many of one tenant.
	Each int `yaml:"each" json:"each" jsonschema:"minimum=1,maximum=10000"`
	// All is how many of all tenants together.
	All int `yaml:"all" json:"all" jsonschema:"minimum=1,maximum=100000"`
	// Idle is how long one stays that nobody asks for.
	Idle time.Duration `yaml:"idle" json:"idle" jsonschema:"minimum=1ms" hint:"write a duration of at least 1ms, such as 1m"`
	// Sandboxes is how many of one tenant, one for each combination of limits. With
	// isolation: process each has its own worker processes.
	Sandboxes int `yaml:"sandboxes" json:"sandboxes" jsonschema:"minimum=1,maximum=1000"`
}

// DefaultConfig returns a server on this machine, without tenants.
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

// Schema returns the JSON Schema of the configuration of a server, for editors.
func Schema() ([]byte, error) { return config.Schema("Merit server configuration", DefaultConfig()) }

// Load reads the configuration at path, puts overrides of the form
// key.path=value over it, and checks the result. The error joins every problem,
// each with file, line and key. Relative paths become relative to the working
// directory.
func Load(path string, overrides ...string) (_ *Config, err error) {
	c := DefaultConfig()
	c.Places, err = config.Load(c, path, overrides...)
	return c, err
}

// Parse is Load for text that came from source; paths in it are relative to dir.
func Parse(source string, text []byte, dir string, overrides ...string) (_ *Config, err error) {
	c := DefaultConfig()
	c.Places, err = config.Parse(c, source, text, dir, overrides...)
	return c, err
}

// EachPath replaces every path.
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

// Local reports whether only this machine can reach the server: through a
// socket, or the address of the loopback itself. A name is not looked up.
func (c *Config) Local() bool {
	if strings.HasPrefix(c.Listen, "unix:") {
		return true
	}
	return httpd.Loopback(c.Listen)
}

// Isolation is the one in force.
func (c *Config) Isolation() sandbox.Isolation {
	switch {
	case c.Sandbox.Isolation != "":
		return c.Sandbox.Isolation
	case c.Local():
		return sandbox.Snapshot
	}
	return sandbox.Process
}

// with is a reward's parameters as JSON.
func (r Reward) with() (json.RawMessage, error) {
	if len(r.With) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(r.With)
	if err != nil {
		return nil, &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: "rewards." + r.Name + ".with", What: "is no JSON", Err: err, Hint: "use texts, numbers, lists and maps"}
	}
	return text, nil
}

// ref is the default reward's.
func (c *Config) ref() error {
	if c.DefaultReward == "" {
		return nil
	}
	_, err := library.ParseRef(c.DefaultReward)
	return err
}

// Warnings are what an operator should know about a configuration that works.
func (c *Config) Warnings() (list []*fault.Error) {
	warn := func(key, what, hint string) {
		list = append(list, &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: c.Places.Of(key), What: what, Hint: hint})
	}
	if c.Local() {
		if c.Tenants != "" && c.Sandbox.Isolation == "" {
			warn("tenants", "the rewards of all tenants run in the server's own process, as it can be reached from this machine only", "set sandbox.isolation: process where tenants do not trust each other, as behind a proxy, or snapshot where they do")
		}
		return list
	}
	if i := c.Isolation(); i != sandbox.Process {
		warn("sandbox.isolation", fmt.Sprintf("isolation %s keeps the rewards of all tenants in the server's own process", i), "leave it out: others can reach this server, and process puts a second wall around each tenant")
	}
	if c.TLS.Cert == "" {
		warn("listen", "keys and rewards cross the network in the clear", "set tls.cert and tls.key, or put a proxy with TLS before it and listen on 127.0.0.1")
	}
	return list
}
