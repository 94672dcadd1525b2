package interpreter

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/sandbox/internal/fuel"
)

// Install fetches i with the npm client into a folder that only this user can
// read. It runs no script of the package.
func (i Interpreter) Install(ctx context.Context, folder string) error {
	fail := func(kind fault.Kind, what, hint string, err error) error {
		return &fault.Error{Boundary: fault.Sandbox, Kind: kind, Where: i.Package, What: what, Hint: hint, Err: err}
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return fail(fault.Missing, "the npm client is not installed", "install Node.js (on Debian: apt-get install nodejs npm), or install the Python wheel, which contains the interpreter", err)
	}
	scratch, err := os.MkdirTemp("", "merit-npm-")
	if err != nil {
		return fail(fault.Invalid, "a temporary folder cannot be created", "set TMPDIR to a folder that you can write to", err)
	}
	defer os.RemoveAll(scratch)
	cmd := exec.CommandContext(ctx, npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--no-package-lock",
		"--omit=dev", "--omit=peer", "--prefix", scratch, i.Package)
	cmd.Dir = scratch
	if text, err := cmd.CombinedOutput(); err != nil {
		return fail(fault.Missing, "npm cannot fetch the package", "read the output of npm: "+lastLines(string(text)), err)
	}
	name, _, _ := cutVersion(i.Package)
	wasm, err := os.ReadFile(filepath.Join(scratch, "node_modules", filepath.FromSlash(name), filepath.FromSlash(i.File)))
	if err != nil {
		return fail(fault.Invalid, "the package does not contain "+i.File, "retry later, or report it", err)
	}
	if got := digest(wasm); got != i.Fetched {
		return fail(fault.Refused, fmt.Sprintf("the downloaded file has the digest %s, not %s", got, i.Fetched), "do not use it: the registry sent another file than the one that Merit was tested with", nil)
	}
	kept, _, err := cut(wasm)
	if err == nil && i.Plain {
		kept, err = fuel.Promote(kept)
	}
	if err != nil {
		return fail(fault.Invalid, "the downloaded file is not a valid module", "report it", err)
	}
	return i.keep(folder, kept)
}

// Take stores a file that make interpreter built, or that a release contains, in a folder
// that only this user can read, and returns which build of i's language it is, or that it is
// the userland. The error is a *fault.Error.
func (i Interpreter) Take(path, folder string) (Interpreter, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return i, &fault.Error{Boundary: fault.Data, Kind: fault.Missing, Where: path, What: "the interpreter cannot be read", Hint: "check the path", Err: err}
	}
	got, builds := digest(file), i.Builds()
	for _, b := range append(i.Files(), builds...) {
		if b.Digest == got {
			return b, b.keep(folder, file)
		}
	}
	return i, &fault.Error{
		Boundary: fault.Sandbox, Kind: fault.Refused, Where: path, What: fmt.Sprintf("the file has the digest %s, not %s of %s", got, builds[0].Digest, builds[0].Title),
		Hint: "use the file in share/merit/interpreters of a release of this version of Merit",
	}
}

func (i Interpreter) keep(folder string, file []byte) error {
	err := os.MkdirAll(folder, 0o700)
	if err == nil {
		err = renameio.WriteFile(i.Path(folder), file, 0o600)
	}
	if err != nil {
		return &fault.Error{
			Boundary: fault.Sandbox, Kind: fault.Invalid, Where: i.Title, What: "the interpreter cannot be stored in " + folder,
			Hint: "set MERIT_HOME to a folder that you can write to", Err: err,
		}
	}
	return nil
}

// cutVersion splits name@version; the name may begin with @.
func cutVersion(pkg string) (name, version string, ok bool) {
	at := strings.LastIndexByte(pkg, '@')
	if at <= 0 {
		return pkg, "", false
	}
	return pkg[:at], pkg[at+1:], true
}

func lastLines(text string) string {
	const shown = 600
	text = strings.TrimSpace(text)
	return text[max(0, len(text)-shown):]
}
