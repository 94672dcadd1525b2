// Package collecting assembles what takes traces in: secrets are blanked, a
// store keeps the rest, rewards may score what has ended at once, what is too
// old is removed. Open is that chain, for whoever records in this process;
// Listen puts the receivers of OTLP and of the plain form before it.
package collecting

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/merit-rl/merit/core/config"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/httpd"
	"github.com/merit-rl/merit/internal/httpd/certificates"
	"github.com/merit-rl/merit/internal/traces/collect"
	"github.com/merit-rl/merit/internal/traces/redact"
	"github.com/merit-rl/merit/internal/traces/store"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sdk/merit"
)

// Config is the configuration of a collector.
type Config struct {
	// Listen is where OTLP over HTTP and the plain form are received: HOST:PORT.
	Listen string `yaml:"listen" json:"listen"`
	// GRPC is where OTLP over gRPC is received: HOST:PORT. Empty is nowhere.
	GRPC string `yaml:"grpc" json:"grpc"`
	// KeyFile holds the key that clients must send, in its first line. Without one
	// the collector listens on this machine only.
	KeyFile string `yaml:"key_file" json:"key_file"`
	// TLS has the certificates of both addresses. Without them they speak in the
	// clear.
	TLS certificates.Files `yaml:"tls" json:"tls"`
	// Store keeps the traces: the path of a file, or the URL of a Postgres
	// database. Empty is what MERIT_TRACES says, else traces.db.
	Store string `yaml:"store" json:"store"`
	// Redact says which secrets are blanked before the store sees them.
	Redact redact.Config `yaml:"redact" json:"redact"`
	// Retention removes what is too old, or too much.
	Retention Retention `yaml:"retention" json:"retention"`
	// Rewards score a trace as soon as it has ended; their weighted scores add up.
	Rewards []merit.Reward `yaml:"rewards" json:"rewards"`
	// Sandbox bounds what an evaluation may use.
	Sandbox sandbox.Config `yaml:"sandbox" json:"sandbox"`
	// MaxBody bounds a request, in bytes, also after it is decompressed.
	MaxBody int64 `yaml:"max_body" json:"max_body" jsonschema:"minimum=1024,maximum=1073741824" hint:"use a number of bytes from 1024 to 2^30"`
	// Drain is how long the collector may take at its end over what it has
	// accepted, and over rewards that wait.
	Drain time.Duration `yaml:"drain" json:"drain" jsonschema:"minimum=1ms" hint:"write a duration of at least 1ms, such as 1m"`

	// Places says where each value was set.
	Places config.Places `yaml:"-" json:"-"`
}

// Retention is how long and how much is kept. 0 is no limit.
type Retention struct {
	// Age is since the start of a trace, such as 720h.
	Age time.Duration `yaml:"age" json:"age" jsonschema:"minimum=0" hint:"write a duration such as 720h, or 0 for no limit"`
	// MiB is the size of all traces; the oldest go first.
	MiB int64 `yaml:"mib" json:"mib" jsonschema:"minimum=0,exclusiveMaximum=1099511627776" hint:"write a number of MiB, or 0 for no limit"`
	// Every is how often the collector looks.
	Every time.Duration `yaml:"every" json:"every" jsonschema:"minimum=1s" hint:"write a duration of at least 1s, such as 10m"`
}

// keep is the retention as a store has it.
func (r Retention) keep() store.Retention {
	return store.Retention{Age: r.Age, Bytes: r.MiB << 20}
}

// DefaultConfig returns a collector on this machine that keeps everything.
func DefaultConfig() *Config {
	return &Config{
		Listen: "127.0.0.1:4318", GRPC: "127.0.0.1:4317", MaxBody: collect.MaxBody, Drain: time.Minute,
		Retention: Retention{Every: 10 * time.Minute}, Sandbox: sandbox.DefaultConfig(),
	}
}

// Schema returns the JSON Schema of the configuration of a collector, for editors.
func Schema() ([]byte, error) { return config.Schema("Merit collector configuration", DefaultConfig()) }

// Load reads the configuration at path, puts overrides of the form
// key.path=value over it, and checks the result. The error joins every problem,
// each with file, line and key. Relative paths in the file become relative to
// the working directory.
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
	paths := []*string{&c.KeyFile, &c.Sandbox.CacheDir, &c.Sandbox.InterpreterDir}
	paths = append(paths, c.TLS.Paths()...)
	for i := range c.Rewards {
		c.Rewards[i].EachPath(replace)
	}
	if !strings.Contains(c.Store, "://") && !strings.HasPrefix(c.Store, "sqlite:") {
		paths = append(paths, &c.Store)
	}
	for _, path := range paths {
		if *path != "" {
			*path = replace(*path)
		}
	}
}

// Validate returns every problem of c, each a *fault.Error whose Where is a key
// path.
func (c *Config) Validate() []error {
	p := fault.Validate(c)
	c.address(&p, "listen", c.Listen, false)
	c.address(&p, "grpc", c.GRPC, true)
	p = append(p, c.TLS.Problems("tls")...)
	if c.Listen != "" && c.Listen == c.GRPC && !strings.HasSuffix(c.Listen, ":0") {
		p.Invalid("grpc", "is the address of listen", "give each a port of its own")
	}
	for i, r := range c.Rewards {
		p.Check(!r.Environment, fmt.Sprintf("rewards[%d].environment", i), true, "a trace has no environment: name a module or a judge")
	}
	return p
}

// Check is Validate as one error, for a configuration that is in no file.
func (c *Config) Check() error { return errors.Join(c.Validate()...) }

func (c *Config) address(p *fault.Problems, key, address string, optional bool) {
	if address == "" && optional {
		return
	}
	httpd.CheckListen(p, key, address, c.KeyFile != "", "key_file", "write traces")
}
