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

// BuiltIn stands in a list of folders for the plug-ins that this program runs
// itself. The path of one of them is BuiltIn and its name: builtin:sokoban.
const BuiltIn = "builtin:"

// builtins are the plug-ins that the program has, and how it starts itself as
// one of them.
var builtins struct {
	argument  string
	manifests map[string]func() (Manifest, error)
}

// OfferBuiltins makes plug-ins of this program known by their names. It promises
// that the program, started with the argument and a name, becomes that plug-in. It
// is called once, before anything else happens.
func OfferBuiltins(argument string, manifests map[string]func() (Manifest, error)) {
	builtins.argument, builtins.manifests = argument, manifests
}

// HasBuiltins reports whether this program has plug-ins of its own.
func HasBuiltins() bool { return len(builtins.manifests) > 0 }

// builtinPaths returns the paths of all built-in plug-ins, sorted.
func builtinPaths() (paths []string) {
	for _, name := range slices.Sorted(maps.Keys(builtins.manifests)) {
		paths = append(paths, BuiltIn+name)
	}
	return paths
}

// checkBuiltin reports why no plug-in has the path.
func checkBuiltin(path string) error {
	name := strings.TrimPrefix(path, BuiltIn)
	if builtins.manifests[name] != nil {
		return nil
	}
	e := &fault.Error{Boundary: fault.Plugin, Kind: fault.Missing, Where: path, What: "this program has no built-in plug-in of that name", Hint: "it has " + strings.Join(slices.Sorted(maps.Keys(builtins.manifests)), ", ")}
	if !HasBuiltins() {
		e.What, e.Hint = "this program has no built-in plug-ins", "name a file: go build ./plugins/"+name+" makes one, in the source of Merit"
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

// builtinManifest is what a built-in plug-in says of itself; no file holds it.
func builtinManifest(path string) (*Manifest, error) {
	m, err := builtins.manifests[strings.TrimPrefix(path, BuiltIn)]()
	if err != nil {
		return nil, err
	}
	digest, err := builtinDigest(path)
	m.Digest = "sha256:" + digest
	return &m, err
}

// builtinDigest covers the name of a plug-in and the build of the program that
// runs it: all that decides what it does.
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

// in returns the path of what lies in a folder, or of what is built in.
func in(folder, name string) string {
	if folder == BuiltIn {
		return BuiltIn + name
	}
	return filepath.Join(folder, name)
}

// Places names folders for people.
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
