package image

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/box"
)

// Inventory is what the boxes of a maker have.
type Inventory struct {
	programs, packages, modules map[string]bool
	// Python is the version of Python.
	Python string
}

// probe prints the version of Python, its modules that can be imported, and its packages.
const probe = `import sys, pkgutil, importlib.metadata as m
print("%d.%d" % sys.version_info[:2])
names = {n for n in sys.stdlib_module_names if not n.startswith("_")} | {x.name for x in pkgutil.iter_modules()}
for n in ("ssl", "ctypes", "multiprocessing", "socket", "curses", "tkinter", "fcntl", "resource", "readline", "mmap", "select", "turtle", "dbm", "termios", "pty", "syslog", "crypt", "numpy", "regex"):
    try:
        __import__(n)
        names.add(n)
    except ImportError:
        names.discard(n)
print(*sorted(names))
print(*sorted(d.metadata["Name"].lower().replace("_", "-") for d in m.distributions()))`

// Take lists what a new box has.
func Take(ctx context.Context, m box.Maker) (*Inventory, error) {
	b, err := m.New(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = b.Close() }()
	v := &Inventory{programs: map[string]bool{}, packages: map[string]bool{"pip": true, "setuptools": true, "wheel": true, "uv": true}}
	for _, dir := range []string{"/usr/bin", "/usr/sbin", "/usr/local/bin"} {
		files, err := b.Files(dir)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			v.programs[path.Base(f.Path)] = !f.Mode.IsDir()
		}
	}
	r := b.Run(ctx, box.Command{Args: []string{"python3", "-c", probe}, Env: defaultEnv, Dir: "/"})
	lines := strings.Split(string(r.Output), "\n")
	if r.Err != nil || r.Status != 0 || len(lines) < 3 {
		return nil, &fault.Error{Boundary: fault.Sandbox, Kind: fault.Internal, Where: "python3", What: fmt.Sprintf("the machine's Python does not answer: status %d, %s", r.Status, r.Errors), Err: r.Err}
	}
	v.Python = lines[0]
	v.modules = set(lines[1])
	for name := range set(lines[2]) {
		v.packages[normal(name)] = true
	}
	return v, nil
}

func set(line string) map[string]bool {
	all := map[string]bool{}
	for _, name := range strings.Fields(line) {
		all[name] = true
	}
	return all
}

// program reports whether boxes have a program, or the shell has it built in.
func (v *Inventory) program(name string) bool { return v.programs[name] || builtins[name] }

// pythonPackage reports whether boxes have a package of Python, or what it is imported as.
func (v *Inventory) pythonPackage(name string) bool {
	return v.packages[name] || v.modules[importOf(name)] || strings.HasPrefix(name, "types-")
}

var builtins = set(`. : [ alias bg bind break builtin case cd command compgen complete continue coproc declare dirs disown do done echo elif else enable esac eval exec exit
	export false fc fg fi for function getopts hash help history if in jobs kill let local logout mapfile popd printf pushd pwd read readarray readonly return select set shift shopt source
	suspend test then time times trap true type typeset ulimit umask unalias unset until wait while [[ ]] !`)

// defaultEnv is the environment of a container to which nothing is added.
var defaultEnv = []string{"PATH=" + defaultPath, "HOME=/root", "HOSTNAME=merit"}

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
