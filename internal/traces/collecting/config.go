// Package collecting assembles the pipeline that receives traces: it redacts
// secrets, stores the spans, optionally scores each trace when it has ended, and
// removes old traces. Open is this pipeline for recorders in the same process;
// Listen adds receivers for OTLP and for Merit's own JSON form.
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
	// Listen is the HOST:PORT that receives OTLP over HTTP and Merit's own JSON form.
	Listen string `yaml:"listen" json:"listen"`
	// GRPC is the HOST:PORT that receives OTLP over gRPC. Empty turns it off.
	GRPC string `yaml:"grpc" json:"grpc"`
	// KeyFile is a file whose first line is the key that clients must send. Without
	// it the collector accepts connections from this machine only.
	KeyFile string `yaml:"key_file" json:"key_file"`
	// TLS has the certificates of both addresses. Without them the connections are
	// not encrypted.
	TLS certificates.Files `yaml:"tls" json:"tls"`
	// Store holds the traces: the path of a file, or the URL of a Postgres database.
	// If empty, it is the value of MERIT_TRACES, else traces.db.
	Store string `yaml:"store" json:"store"`
	// Redact selects the secrets to redact before spans are stored.
	Redact redact.Config `yaml:"redact" json:"redact"`
	// Retention removes traces that are too old, or exceed a total size.
	Retention Retention `yaml:"retention" json:"retention"`
	// Rewards score a trace as soon as it has ended. Its score is their weighted sum.
	Rewards []merit.Reward `yaml:"rewards" json:"rewards"`
	// Sandbox sets the limits of one evaluation.
	Sandbox sandbox.Config `yaml:"sandbox" json:"sandbox"`
	// MaxBody is the maximum size of a request in bytes, also after decompression.
	MaxBody int64 `yaml:"max_body" json:"max_body" jsonschema:"minimum=1024,maximum=1073741824" hint:"use a number of bytes from 1024 to 2^30"`
	// Drain is the shutdown grace period: how long the collector may take to finish
	// accepted requests and waiting rewards.
	Drain time.Duration `yaml:"drain" json:"drain" jsonschema:"minimum=1ms" hint:"write a duration of at least 1ms, such as 1m"`

	// Places records where each value was set.
	Places config.Places `yaml:"-" json:"-"`
}

// Retention limits the age and the size of what is stored. 0 means no limit.
type Retention struct {
	// Age is the maximum age of a trace since its start, such as 720h.
	Age time.Duration `yaml:"age" json:"age" jsonschema:"minimum=0" hint:"write a duration such as 720h, or 0 for no limit"`
	// MiB is the maximum size of all traces; the oldest are removed first.
	MiB int64 `yaml:"mib" json:"mib" jsonschema:"minimum=0,exclusiveMaximum=1099511627776" hint:"write a number of MiB, or 0 for no limit"`
	// Every is the interval between two checks.
	Every time.Duration `yaml:"every" json:"every" jsonschema:"minimum=1s" hint:"write a duration of at least 1s, such as 10m"`
}

// keep converts r to the retention of a store.
func (r Retention) keep() store.Retention {
	return store.Retention{Age: r.Age, Bytes: r.MiB << 20}
}

// DefaultConfig returns a collector that listens on this machine and keeps everything.
func DefaultConfig() *Config {
	return &Config{
		Listen: "127.0.0.1:4318", GRPC: "127.0.0.1:4317", MaxBody: collect.MaxBody, Drain: time.Minute,
		Retention: Retention{Every: 10 * time.Minute}, Sandbox: sandbox.DefaultConfig(),
	}
}

// Schema returns the JSON Schema of the configuration of a collector, for editors.
func Schema() ([]byte, error) { return config.Schema("Merit collector configuration", DefaultConfig()) }

// Load reads the configuration at path, applies overrides of the form
// key.path=value, and checks the result. The error joins every problem, each with
// file, line and key. Relative paths in the file become relative to the working
// directory.
func Load(path string, overrides ...string) (_ *Config, err error) {
	c := DefaultConfig()
	c.Places, err = config.Load(c, path, overrides...)
	return c, err
}

// Parse is like Load for text that came from source; paths in it are relative to dir.
func Parse(source string, text []byte, dir string, overrides ...string) (_ *Config, err error) {
	c := DefaultConfig()
	c.Places, err = config.Parse(c, source, text, dir, overrides...)
	return c, err
}

// EachPath replaces every path with replace(path).
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

// Validate returns every problem of c, each a *fault.Error whose Where is a key path.
func (c *Config) Validate() []error {
	p := fault.Validate(c)
	c.address(&p, "listen", c.Listen, false)
	c.address(&p, "grpc", c.GRPC, true)
	p = append(p, c.TLS.Problems("tls")...)
	if c.Listen != "" && c.Listen == c.GRPC && !strings.HasSuffix(c.Listen, ":0") {
		p.Invalid("grpc", "is the same address as listen", "use a different port for each")
	}
	for i, r := range c.Rewards {
		for k, part := range r.Chain() {
			p.Check(!part.Environment, fmt.Sprintf("rewards[%d]%s.environment", i, strings.Repeat(".otherwise", k)), true, "a trace has no environment: name a module or a judge")
		}
	}
	return p
}

// Check returns the problems of Validate as one error, for a configuration that was
// not read from a file.
func (c *Config) Check() error { return errors.Join(c.Validate()...) }

func (c *Config) address(p *fault.Problems, key, address string, optional bool) {
	if address == "" && optional {
		return
	}
	httpd.CheckListen(p, key, address, c.KeyFile != "", "key_file", "write traces")
}
