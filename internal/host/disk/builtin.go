package disk

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/build"
)

// BuiltIn, in a list of folders, means the plug-ins that are built into this program.
// The path of such a plug-in is BuiltIn followed by its name: builtin:sokoban.
const BuiltIn = "builtin:"

// builtins holds the plug-ins of the program, and the argument with which it starts
// itself as one of them.
var builtins struct {
	argument  string
	manifests map[string]func() (Manifest, error)
}

// OfferBuiltins registers the plug-ins of this program by name. The program, started
// with the argument and a name, must become that plug-in. Call it once, before anything
// else.
func OfferBuiltins(argument string, manifests map[string]func() (Manifest, error)) {
	builtins.argument, builtins.manifests = argument, manifests
}

// HasBuiltins reports whether this program has built-in plug-ins.
func HasBuiltins() bool { return len(builtins.manifests) > 0 }

// BuiltinOptions returns the JSON Schema of the options of every built-in plug-in of a kind, by
// its name.
func BuiltinOptions(kind string) map[string]map[string]any {
	all := map[string]map[string]any{}
	for name, manifest := range builtins.manifests {
		if m, err := manifest(); err == nil && m.Kind == kind && m.Options != nil {
			all[name] = m.Options
		}
	}
	return all
}

// builtinPaths returns the paths of all built-in plug-ins, sorted.
func builtinPaths() (paths []string) {
	for _, name := range slices.Sorted(maps.Keys(builtins.manifests)) {
		paths = append(paths, BuiltIn+name)
	}
	return paths
}

// checkBuiltin returns an error if no built-in plug-in has the path.
func checkBuiltin(path string) error {
	name := strings.TrimPrefix(path, BuiltIn)
	if builtins.manifests[name] != nil {
		return nil
	}
	e := &fault.Error{Boundary: fault.Plugin, Kind: fault.Missing, Where: path, What: "this program has no built-in plug-in of that name", Hint: "choose one of " + strings.Join(slices.Sorted(maps.Keys(builtins.manifests)), ", ")}
	if !HasBuiltins() {
		e.What, e.Hint = "this program has no built-in plug-ins", "name a file: go build ./plugins/"+name+" in Merit's source builds one"
	}
	return e
}

// builtinCommand starts this program again as one of its plug-ins.
func builtinCommand(path string) (Command, error) {
	self := "/proc/self/exe" // this program, even if its file was replaced since it started
	if runtime.GOOS != "linux" {
		var err error
		if self, err = os.Executable(); err != nil {
			return Command{}, unreadable(path, err)
		}
	}
	return Command{Path: self, Name: os.Args[0], Args: []string{builtins.argument, strings.TrimPrefix(path, BuiltIn)}}, nil
}

// builtinManifest returns the manifest of a built-in plug-in; it has no file.
func builtinManifest(path string) (*Manifest, error) {
	m, err := builtins.manifests[strings.TrimPrefix(path, BuiltIn)]()
	if err != nil {
		return nil, err
	}
	digest, err := builtinDigest(path)
	m.Digest = "sha256:" + digest
	return &m, err
}

// builtinDigest covers the name of a plug-in and the build of the program that runs it,
// which together determine its behavior.
func builtinDigest(path string) (string, error) {
	id := build.ID()
	if id == "" {
		self, err := os.Executable()
		if err != nil {
			return "", unreadable(path, err)
		}
		if id, err = digestFile(self); err != nil {
			return "", err
		}
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "built-in plug-in 1\n%s\n%q\n", strings.TrimPrefix(path, BuiltIn), id))
	return hex.EncodeToString(sum[:]), nil
}

// in returns the path of a plug-in in a folder, or of a built-in one.
func in(folder, name string) string {
	if folder == BuiltIn {
		return BuiltIn + name
	}
	return filepath.Join(folder, name)
}

// Places returns the folders in a form to show to the user.
func Places(folders []string) string {
	var named []string
	for _, f := range folders {
		if f == BuiltIn {
			f = "merit itself"
		}
		named = append(named, f)
	}
	return strings.Join(named, ", ")
}

func isBuiltin(path string) bool { return strings.HasPrefix(path, BuiltIn) }

func alreadyBuiltIn(path, hint string) error {
	return &fault.Error{Boundary: fault.Plugin, Kind: fault.Refused, Where: path, What: "is built into merit", Hint: hint}
}
