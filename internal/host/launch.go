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

const longestTempDir = 40 // a socket's path has at most 108 bytes, of which go-plugin and Python use 60

// launch holds what starts a plug-in of either kind.
type launch struct {
	path     string
	args     []string
	expect   disk.Expectation  // digests that the plug-in must match
	env      []string          // KEY=value
	secrets  *strings.Replacer // hides the values of secret variables; nil = none
	timeout  time.Duration     // until the handshake is complete
	describe time.Duration     // for the description
	limits   Limits
	log      *slog.Logger
}

// variables names the variables of Merit's own environment that a plug-in gets.
type variables struct {
	names  []string
	getenv func(string) string // nil is os.Getenv
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// shortestSecret is the shortest value that is hidden. Shorter values are common words
// and would be hidden everywhere.
const shortestSecret = 8

func (v variables) get(name string) string {
	if v.getenv == nil {
		return os.Getenv(name)
	}
	return v.getenv(name)
}

// validate reports invalid names and variables that are not set.
func (v variables) validate(p *fault.Problems) {
	for i, name := range v.names {
		key := fmt.Sprintf("pass_env[%d]", i)
		switch {
		case !variableName.MatchString(name):
			p.Invalid(key, fmt.Sprintf("%q is not a variable name", wire.Cut(name, 40)), "give the name only; the value stays in the environment")
		case v.get(name) == "":
			p.Missing(key, fmt.Sprintf("the variable %s is not set", name), "set it in the environment in which you start merit")
		}
	}
}

// pass gives the plug-in the variables, and hides their values in its output.
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

// environ returns everything that a plug-in inherits. It contains no keys and no
// tokens.
func environ(l Limits) []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"),
		"TMPDIR=" + os.TempDir(),
		// Measured: without this limit, two Go processes on two cores spend a third of
		// them on idle spinning.
		fmt.Sprintf("GOMAXPROCS=%d", max(1, l.CPU)),
		"PYTHONUNBUFFERED=1",
	}
	if l.Memory > 0 {
		env = append(env, fmt.Sprintf("GOMEMLIMIT=%d", l.Memory/10*8))
	}
	return env
}

// socketDir creates the folder of the socket, with mode 0700 and a short name.
func socketDir() (string, error) {
	base := os.TempDir()
	if len(base) > longestTempDir {
		base = string(filepath.Separator) + "tmp"
	}
	dir, err := os.MkdirTemp(base, "merit-")
	if err != nil {
		return "", &fault.Error{
			Boundary: fault.Storage, Kind: fault.Exhausted, Where: base, What: "cannot create a folder for a plug-in's socket",
			Hint: "free disk space there, or set TMPDIR", Err: err,
		}
	}
	return dir, nil
}

// command returns what starts the plug-in. It fails if the path is not a plug-in, or
// not the expected one.
func (l *launch) command() (disk.Command, error) {
	if disk.Runs(l.path) {
		return disk.Command{}, &fault.Error{
			Boundary: fault.Plugin, Kind: fault.Refused, Where: l.path, What: "is a WebAssembly module, and only environments can be modules",
			Hint: "name it in environment.module, or build the policy as a program",
		}
	}
	return disk.Expected(l.path, l.expect)
}
