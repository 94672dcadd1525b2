// Package doctor examines what Merit can use on this machine: CPUs, kernel, interpreters,
// compilers of every language, Python packages, and the cache.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/cpu"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/cpus"
	"github.com/merit-rl/merit/internal/host/disk"
	"github.com/merit-rl/merit/internal/rewards/guest"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

// State is how well Merit can use something.
type State string

// The states.
const (
	OK      State = "ok"
	Slower  State = "slower"  // Merit works without it, but slower
	Missing State = "missing" // a part of Merit does not work without it
)

// Finding is the result of one check.
type Finding struct {
	What  string `json:"what"`
	For   string `json:"for"`
	State State  `json:"state"`
	Found string `json:"found"`
	Fix   string `json:"fix,omitempty"` // how to get it
}

// Check is one check of the machine. It takes no longer than a build.
type Check struct {
	What, For string
	run       func(ctx context.Context) (State, string, string)
}

// Run runs the check.
func (c Check) Run(ctx context.Context) Finding {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	state, found, fix := c.run(ctx)
	return Finding{c.What, c.For, state, found, fix}
}

// Checks returns all checks. Cache is the folder of compiled modules, or empty if there is none.
func Checks(cache string) []Check {
	checks := []Check{
		{"processors", "everything", processorsFound},
		{"vector units", "training", vectorsFound},
		{"kernel", "fast rewards", kernelFound},
		{"cache", "fast starts", func(context.Context) (State, string, string) { return cacheFound(cache) }},
	}
	for _, i := range interpreter.All() {
		checks = append(checks, Check{i.Title, "rewards in " + i.Language, func(context.Context) (State, string, string) { return interpreterFound(i) }})
	}
	if python := interpreter.Python(); python.Builds()[0].Package == "" {
		checks = append(checks, Check{"userland", "Harbor tasks without a container", func(context.Context) (State, string, string) { return userlandFound(python) }})
		checks = append(checks, Check{"Python packages", "rewards that import " + packages(python), func(context.Context) (State, string, string) { return packagesFound(python) }})
	}
	for _, l := range guest.Languages() {
		if l.Script == "" {
			checks = append(checks, Check{l.Title + " to WebAssembly", "rewards in " + l.Title, func(ctx context.Context) (State, string, string) { return builds(ctx, l) }})
		}
	}
	return append(checks, Check{"Python with grpcio", "plug-ins in Python", pythonFound})
}

func processorsFound(context.Context) (State, string, string) {
	return OK, fmt.Sprintf("%d, %s/%s", cpus.Count(), runtime.GOOS, runtime.GOARCH), ""
}

func vectorsFound(context.Context) (State, string, string) {
	switch {
	case runtime.GOARCH != "amd64":
		return Slower, runtime.GOARCH, "the fast kernels of the embedded learner need AVX2 (amd64)"
	case !cpu.X86.HasAVX2 || !cpu.X86.HasFMA:
		return Slower, "no AVX2 with FMA", "use a CPU from 2013 or later; in a virtual machine, pass the CPU's features through"
	}
	return OK, "AVX2, FMA", ""
}

// kernelFound reports whether the kernel can list the pages that a reward has written
// (PAGEMAP_SCAN); otherwise Merit copies the whole memory after each evaluation.
func kernelFound(context.Context) (State, string, string) {
	const fix = "use Linux 6.7 or later, where Merit restores only the memory that a reward has written"
	text, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return Slower, runtime.GOOS, fix
	}
	release := strings.TrimSpace(string(text))
	if !isRecent(release) {
		return Slower, "Linux " + release, fix
	}
	return OK, "Linux " + release, ""
}

// isRecent reports whether a release such as 6.8.0-45-generic is 6.7 or later.
func isRecent(release string) bool {
	var major, minor int
	n, _ := fmt.Sscanf(release, "%d.%d", &major, &minor)
	return n == 2 && (major > 6 || major == 6 && minor >= 7)
}

func cacheFound(folder string) (State, string, string) {
	if folder == "" {
		return Slower, "none", "set MERIT_CACHE to a folder, so that modules are compiled once"
	}
	err := os.MkdirAll(folder, 0o700)
	if err == nil {
		var f *os.File
		if f, err = os.CreateTemp(folder, "doctor-"); err == nil {
			err = errors.Join(f.Close(), os.Remove(f.Name()))
		}
	}
	if err != nil {
		return Slower, err.Error(), "set MERIT_CACHE to a folder that you can write to"
	}
	return OK, folder, ""
}

func interpreterFound(i interpreter.Interpreter) (State, string, string) {
	folder := interpreter.Folder()
	if folder == "" {
		return Missing, "no folder for interpreters is set", "set MERIT_HOME to a folder, then run merit " + i.Name + " install"
	}
	if _, err := i.Load(folder); err != nil {
		return Missing, "not installed", "merit " + i.Name + " install"
	}
	return OK, i.Where(folder), ""
}

// userlandFound reports whether machines can run: the userland with Merit's own CPython.
func userlandFound(python interpreter.Interpreter) (State, string, string) {
	fix := "merit " + python.Name + " install --from FOLDER, which is share/merit/interpreters of a release; in a checkout of Merit, run make interpreter"
	userland := python.Userland()
	if _, err := userland.Load(interpreter.Folder()); err != nil {
		return Missing, "not installed", fix
	}
	if python.Package != "" {
		return Missing, "installed, but " + python.Title + " of npm cannot run beside it", fix
	}
	return OK, userland.Where(interpreter.Folder()), ""
}

// packages lists the packages that are part of the best build of an interpreter.
func packages(i interpreter.Interpreter) string {
	return strings.TrimPrefix(i.Builds()[0].Origin(), "with ")
}

// packagesFound reports whether the installed build includes them.
func packagesFound(i interpreter.Interpreter) (State, string, string) {
	if i.Lacks() != "" {
		return Missing, "not part of " + i.Title + " of npm", "in a checkout of Merit, run make interpreter"
	}
	return OK, "part of " + i.Title, ""
}

// builds creates and builds a reward in a language, as merit reward new and build do.
func builds(ctx context.Context, l guest.Language) (State, string, string) {
	dir, err := os.MkdirTemp("", "merit-doctor-")
	if err != nil {
		return Missing, err.Error(), "set TMPDIR to a folder that you can write to"
	}
	defer os.RemoveAll(dir)
	folder := filepath.Join(dir, "reward")
	if _, err := l.Scaffold(folder); err != nil {
		return Missing, err.Error(), ""
	}
	wasm, err := l.Build(ctx, folder)
	var f *fault.Error
	switch {
	case errors.As(err, &f):
		return Missing, firstLine(cmp.Or(f.What, fmt.Sprint(f.Err))), f.Hint
	case err != nil:
		return Missing, firstLine(err.Error()), ""
	}
	return OK, fmt.Sprintf("builds a reward of %d kB", (len(wasm)+999)/1000), ""
}

// pythonFound looks for the Python packages that a plug-in imports.
func pythonFound(ctx context.Context) (State, string, string) {
	name := cmp.Or(os.Getenv(disk.PythonVariable), "python3")
	fix := "python3 -m venv env && env/bin/pip install 'grpcio' 'protobuf', then set " + disk.PythonVariable + " to env/bin/python"
	const show = "import sys, grpc, google.protobuf; print('Python %d.%d' % sys.version_info[:2], 'with grpcio', grpc.__version__)"
	text, err := exec.CommandContext(ctx, name, "-c", show).CombinedOutput()
	if err != nil {
		return Missing, firstLine(cmp.Or(lastLine(string(text)), err.Error())), fix
	}
	return OK, firstLine(string(text)), ""
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
