package fleet

import (
	"slices"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/fleet/queue"
)

// Config says how a run uses a fleet, if it is given one. Nothing of it changes
// a byte of what the run writes.
type Config struct {
	// Groups is how many whole groups a worker plays in one go; 0 is as many as
	// fill the slots of an environment.
	Groups int `yaml:"groups" json:"groups" jsonschema:"minimum=0"`
	// Label, if it is set, is what a worker must carry to get work of this run,
	// such as gpu.
	Label string `yaml:"label" json:"label"`
	// Verify is the share of results that another worker computes again: a worker
	// that says something else is found, named and gets nothing more. 0 believes
	// all, 1 believes nobody alone.
	Verify float64 `yaml:"verify" json:"verify" jsonschema:"minimum=0,maximum=1"`
	// Patience is how long a run waits while no worker at all is there.
	Patience time.Duration `yaml:"patience" json:"patience" jsonschema:"exclusiveMinimum=0" hint:"use a time above 0, such as 10m"`
	// Replicas is how many servers of a cluster keep a copy of each queue, result
	// and content: 1, 3 or 5. 0 is three where there are three servers, and else
	// one; more copies that are there are kept.
	Replicas int `yaml:"replicas" json:"replicas"`
	// Listen is where an embedded server waits for workers of other machines, as
	// HOST:PORT. Beyond this machine it wants keys and certificates.
	Listen string `yaml:"listen" json:"listen"`
	// Key is the file with the key that this end proves itself by; CA is whose
	// certificates it believes, Cert and CertKey are its own if the server
	// wants one. An embedded server has Cert and CertKey for those who come.
	Key     string `yaml:"key" json:"key"`
	CA      string `yaml:"ca" json:"ca"`
	Cert    string `yaml:"cert" json:"cert"`
	CertKey string `yaml:"cert_key" json:"cert_key"`
	// Users is the file of public keys that an embedded server lets in.
	Users string `yaml:"users" json:"users"`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{Verify: 0.01, Patience: 10 * time.Minute, Listen: "127.0.0.1:0"}
}

// SetDefaults is called before the section is read.
func (c *Config) SetDefaults() { *c = DefaultConfig() }

// EachPath replaces every path in c.
func (c *Config) EachPath(replace func(string) string) {
	for _, path := range []*string{&c.Key, &c.CA, &c.Cert, &c.CertKey, &c.Users} {
		if *path != "" {
			*path = replace(*path)
		}
	}
}

// Validate returns every problem of c, with key paths relative to the section.
func (c Config) Validate() []error {
	problems := fault.Validate(&c)
	if c.Label != "" {
		problems.Check(queue.Word(c.Label), "label", c.Label, "use letters, digits and dashes, 32 at most")
	}
	problems.Check(slices.Contains([]int{0, 1, 3, 5}, c.Replicas), "replicas", c.Replicas, "use 0 (as the servers allow), 1, 3 or 5: an even number outlives no more of them")
	if (c.Cert == "") != (c.CertKey == "") {
		problems.Invalid("cert_key", "is without cert, or cert without it", "give both or none")
	}
	return problems
}
