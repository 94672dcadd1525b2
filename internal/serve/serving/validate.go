package serving

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/httpd"
	"github.com/merit-rl/merit/internal/serve/library"
	"github.com/merit-rl/merit/internal/serve/shape"
	"github.com/merit-rl/merit/sandbox"
)

// mostSocket is the longest path of a Unix socket that works on every system, in bytes.
const mostSocket = 103

// Validate returns every problem of c, with key paths.
func (c *Config) Validate() []error {
	all := *c
	all.Sandbox.Isolation = c.Isolation()
	p := fault.Validate(&all)
	c.checkListen(&p)
	if c.Dir == "" {
		p.Missing("dir", "no folder for uploads is named", "name a folder")
	}
	p = append(p, c.TLS.Problems("tls")...)
	if c.Tenants == "" && len(c.Operators) > 0 {
		p.Invalid("operators", "operators need tenants", "set tenants to a tenants file")
	}
	if err := c.ref(); err != nil {
		p.Invalid("default_reward", fault.As(err).What, fault.As(err).Hint)
	}
	c.checkRewards(&p)
	if _, err := shape.ParseOnUnscored(string(c.OnUnscored)); err != nil {
		p.Invalid("on_unscored", fault.As(err).What, fault.As(err).Hint)
	}
	c.checkLimits(&p)
	return p
}

func (c *Config) checkListen(p *fault.Problems) {
	const form = "write HOST:PORT, such as 127.0.0.1:8700, or unix:PATH"
	if socket, ok := strings.CutPrefix(c.Listen, "unix:"); ok {
		if socket == "" || len(socket) > mostSocket {
			p.Invalid("listen", fmt.Sprintf("%q is not the path of a socket, which has 1 to %d bytes", socket, mostSocket), form)
		}
		return
	}
	if httpd.CheckAddress(p, "listen", c.Listen, form) && c.Tenants == "" && !c.Local() {
		p.Missing("tenants", "without a tenants file, anyone who can reach "+c.Listen+" could run rewards here", "set tenants to a tenants file, or listen on 127.0.0.1 or a Unix socket")
	}
}

func (c *Config) checkRewards(p *fault.Problems) {
	var names []string
	for i, r := range c.Rewards {
		at := fmt.Sprintf("rewards[%d]", i)
		ref, err := library.ParseRef(r.Name)
		switch {
		case r.Name == "":
			p.Missing(at+".name", "the reward has no name", "set the name that requests use")
		case err != nil || ref.Name != r.Name:
			p.Invalid(at+".name", fmt.Sprintf("%q is not a valid name", r.Name), "use at most 128 letters, digits, dots, dashes and underscores")
		case slices.Contains(names, r.Name):
			p.Invalid(at+".name", fmt.Sprintf("%q is used twice", r.Name), "use a different name for each reward")
		}
		names = append(names, r.Name)
		if r.Module == "" {
			p.Missing(at+".module", "no module is named", "name a WASM file, a script or a folder")
			continue
		}
		if _, err := sandbox.ParseReference(r.Module); err != nil {
			p.Invalid(at+".module", fault.As(err).What, fault.As(err).Hint)
		}
		if _, err := r.with(); err != nil {
			p.Invalid(at+".with", fault.As(err).Error(), fault.As(err).Hint)
		}
	}
}

func (c *Config) checkLimits(p *fault.Problems) {
	p.Check(c.Most.Fuel >= c.Sandbox.Fuel && c.Most.Fuel <= 1<<50, "most.fuel", c.Most.Fuel, "use a number from sandbox.fuel to 2^50")
	p.Whole("most.memory_mib", c.Most.MemoryMiB, c.Sandbox.MemoryMiB, 4095)
	p.Check(c.Most.WallClock >= c.Sandbox.WallClock, "most.wall_clock", c.Most.WallClock, "use a duration of at least sandbox.wall_clock")
}

// Check returns all problems as one error, for a configuration that did not come from a file.
func (c *Config) Check() error { return errors.Join(c.Validate()...) }
