package host

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/host/disk"
	"github.com/merit-rl/merit/internal/wire"
)

const longestTempDir = 40 // a socket's path has at most 108 bytes, of which go-plugin and Python take 60

// launch is what it takes to start a plug-in of either kind.
type launch struct {
	path     string
	args     []string
	expect   disk.Expectation  // what it must be
	env      []string          // KEY=value
	secrets  *strings.Replacer // hides values that nobody may read; nil = none
	timeout  time.Duration     // up to the handshake
	describe time.Duration     // until it says who it is
	limits   Limits
	log      *slog.Logger
}

// variables are those of Merit's own environment that a plug-in gets by name.
type variables struct {
	names  []string
	getenv func(string) string // nil is os.Getenv
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// shortestSecret is how long a value must be to be hidden: shorter ones are
// words that stand everywhere.
const shortestSecret = 8

func (v variables) get(name string) string {
	if v.getenv == nil {
		return os.Getenv(name)
	}
	return v.getenv(name)
}

// validate adds what is wrong with the names; a variable that is not set is.
func (v variables) validate(p *fault.Problems) {
	for i, name := range v.names {
		key := fmt.Sprintf("pass_env[%d]", i)
		switch {
		case !variableName.MatchString(name):
			p.Invalid(key, fmt.Sprintf("%q is no name of a variable", wire.Cut(name, 40)), "give the name only; its value stays in the environment")
		case v.get(name) == "":
			p.Missing(key, fmt.Sprintf("the variable %s is not set", name), "set it in the environment that merit is started in")
		}
	}
}

// pass gives the plug-in the variables, and hides their values.
func (l *launch) pass(v variables) {
	var hidden []string
	for _, name := range v.names {
		value := v.get(name)
		l.env = append(l.env, name+"="+value)
		if len(value) >= shortestSecret {
			hidden = append(hidden, value, "$"+name)
		}
	}
	if hidden != nil {
		l.secrets = strings.NewReplacer(hidden...)
	}
}

// environ is all that a plug-in inherits: no keys, no tokens.
func environ(l Limits) []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"),
		"TMPDIR=" + os.TempDir(),
		// Measured: two Go processes on two cores waste a third of them on idle spinning.
		fmt.Sprintf("GOMAXPROCS=%d", max(1, l.CPU)),
		"PYTHONUNBUFFERED=1",
	}
	if l.Memory > 0 {
		env = append(env, fmt.Sprintf("GOMEMLIMIT=%d", l.Memory/10*8))
	}
	return env
}

// socketDir makes the folder of the socket, mode 0700, with a short name.
func socketDir() (string, error) {
	base := os.TempDir()
	if len(base) > longestTempDir {
		base = string(filepath.Separator) + "tmp"
	}
	dir, err := os.MkdirTemp(base, "merit-")
	if err != nil {
		return "", &fault.Error{
			Boundary: fault.Storage, Kind: fault.Exhausted, Where: base, What: "cannot make a folder for a plug-in's socket",
			Hint: "make room there, or set TMPDIR", Err: err,
		}
	}
	return dir, nil
}

// command is what starts the plug-in, unless it is none, or not the expected one.
func (l *launch) command() (disk.Command, error) { return disk.Expected(l.path, l.expect) }
