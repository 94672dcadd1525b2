package engine

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/merit-rl/merit/core/fault"
)

// wanted is the version of Python that the locks were made for.
const wanted = "3.12"

// findPython returns a Python of the wanted version: the one given, or the first
// that is found where people have them.
func findPython(ctx context.Context, given string) (string, error) {
	if given != "" {
		if version := pythonVersion(ctx, given); version != wanted {
			return "", &fault.Error{
				Boundary: fault.Config, Kind: fault.Invalid, Where: given, What: "is not Python " + wanted + " but " + cmp.Or(version, "not a Python that runs"),
				Hint: "give the path of a Python " + wanted,
			}
		}
		return program(given), nil
	}
	for _, candidate := range pythons(ctx) {
		if pythonVersion(ctx, candidate) == wanted {
			return program(candidate), nil
		}
	}
	return "", &fault.Error{
		Boundary: fault.Model, Kind: fault.Missing, What: "there is no Python " + wanted + " on PATH, in pyenv or in uv",
		Hint: "install one (Debian 13 and Ubuntu 24.04: apt-get install python3.12-venv; any system: pip install uv && uv python install 3.12), or give its path",
	}
}

// program is the absolute path of a program, as other folders see it.
func program(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		name = path
	}
	if path, err := filepath.Abs(name); err == nil {
		name = path
	}
	return name
}

// pythons lists programs that may be it. A shim of pyenv on PATH may stand for a
// version that is installed but not chosen.
func pythons(ctx context.Context) []string {
	list := []string{"python" + wanted, "python3"}
	root := os.Getenv("PYENV_ROOT")
	if home, err := os.UserHomeDir(); root == "" && err == nil {
		root = filepath.Join(home, ".pyenv")
	}
	versions, _ := filepath.Glob(filepath.Join(root, "versions", wanted+"*", "bin", "python")) // the pattern is well-formed
	list = append(list, versions...)
	if found, err := exec.CommandContext(ctx, "uv", "python", "find", "--no-python-downloads", wanted).Output(); err == nil {
		list = append(list, strings.TrimSpace(string(found)))
	}
	return list
}

// pythonVersion is what a program says: "3.12"; "" if it is no Python or does not run.
func pythonVersion(ctx context.Context, program string) string {
	out, err := exec.CommandContext(ctx, program, "-c", `import sys; print("%d.%d" % sys.version_info[:2])`).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// installer is a program that makes environments and puts packages into them: uv,
// which does so in seconds, or else Python's own.
type installer struct {
	python string
	uv     bool
}

func newInstaller(ctx context.Context, python string) installer {
	return installer{python: python, uv: exec.CommandContext(ctx, "uv", "--version").Run() == nil}
}

// environment makes an empty one.
func (i installer) environment(folder string) []string {
	if i.uv {
		return []string{"uv", "venv", "--quiet", "--no-project", "--python", i.python, folder}
	}
	return []string{i.python, "-m", "venv", folder}
}

// packages puts exactly the files whose digests stand in a lock into an environment,
// or into a folder of their own. Nothing of them is run.
func (i installer) packages(environment, lock, target string) []string {
	python := filepath.Join(environment, "bin", "python")
	line := []string{"uv", "pip", "install", "--quiet", "--python", python}
	if !i.uv {
		line = []string{python, "-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"}
	}
	line = append(line, "--no-deps", "--require-hashes", "--only-binary", ":all:", "-r", lock)
	if target != "" {
		line = append(line, "--target", target)
	}
	return line
}
