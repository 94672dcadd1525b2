package envserver

import (
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/internal/httpd"
	"github.com/merit-rl/merit/internal/httpd/certificates"
)

// Config says how an environment is served. Keys in problems are the names of
// the command's flags.
type Config struct {
	Listen     string             // HOST:PORT
	KeyEnv     string             // environment variable with the key that clients send; "" = no key
	Processes  int                // how many of the environment, each with environment.slots sessions
	Split      string             // train, validation or test
	Idle       time.Duration      // a session that asks for nothing for so long ends; 0 = never
	Drain      time.Duration      // what was asked before the end may take so long
	MaxMessage int64              // bytes that a client may send at once
	TextOnly   bool               // observations without anchor and features
	TLS        certificates.Files // without them the server speaks in the clear
}

// DefaultConfig listens on this machine only.
func DefaultConfig() Config {
	return Config{Listen: "127.0.0.1:8000", Processes: 1, Split: train.SplitTrain, Idle: 15 * time.Minute, Drain: 10 * time.Second, MaxMessage: 1 << 20}
}

// Validate returns everything that is wrong with c.
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
