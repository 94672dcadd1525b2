package envserver

import (
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/internal/httpd"
	"github.com/merit-rl/merit/internal/httpd/certificates"
)

// Config configures the server of an environment. Problems name the keys like the
// command's flags.
type Config struct {
	Listen     string             // HOST:PORT
	KeyEnv     string             // environment variable with the key that clients send; "" requires none
	Processes  int                // number of processes, each with environment.slots sessions
	Split      string             // train, validation or test
	Idle       time.Duration      // maximum time between requests of a session; 0 means no limit
	Drain      time.Duration      // shutdown grace period
	MaxMessage int64              // maximum bytes of a message from a client
	TextOnly   bool               // omit anchor and features from observations
	TLS        certificates.Files // without them the server does not encrypt
}

// DefaultConfig returns a server on this machine.
func DefaultConfig() Config {
	return Config{Listen: "127.0.0.1:8000", Processes: 1, Split: train.SplitTrain, Idle: 15 * time.Minute, Drain: 10 * time.Second, MaxMessage: 1 << 20}
}

// Validate returns every problem of c.
func (c Config) Validate() []error {
	var p fault.Problems
	httpd.CheckListen(&p, "--listen", c.Listen, c.KeyEnv != "", "--key-env", "use the environment")
	p.Whole("processes", c.Processes, 1, 1024)
	p.OneOf("split", c.Split, train.Splits()...)
	p.Check(c.Idle >= 0, "idle", c.Idle, "use a duration such as 15m; 0 for no limit")
	p.Check(c.Drain > 0, "drain", c.Drain, "use a duration such as 10s")
	p.Check(c.MaxMessage >= 1<<10 && c.MaxMessage <= 64<<20, "max-message", c.MaxMessage, "use 1024 to 67108864 bytes")
	return append(p, c.TLS.Problems("tls")...)
}
