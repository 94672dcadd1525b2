package zoo_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
)

// builders build the rewards of compiled, by the language. Commands run in the root
// of the repository. The native side of one is the Python file of its name.
var builders = map[string]func(t *testing.T, source, out string){
	"go": func(t *testing.T, source, out string) {
		inRoot(t, "go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", out, "./"+source)
	},
	"c": func(t *testing.T, source, out string) {
		clang := testneeds.Tool(t, "on Debian: apt-get install clang lld", "clang")
		inRoot(t, clang, "--target=wasm32", "-O2", "-mbulk-memory", "-Wall", "-Wextra", "-nostdlib", "-Isdk/c", "-Wl,--no-entry", "-Wl,--strip-all", "-o", out, source)
	},
	"rust": func(t *testing.T, source, out string) {
		inRoot(t, append(rust(t), "-C", "lto", "-C", "strip=symbols", "--crate-type", "cdylib", "--extern", "merit_reward="+crate.library(t), "-o", out, source)...)
	},
	"assemblyscript": func(t *testing.T, source, out string) {
		module, err := os.ReadFile(filepath.Join(scripts.modules(t), strings.TrimSuffix(filepath.Base(source), ".ts")+".wasm"))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(out, module, 0o600))
	},
}

// shared is what the rewards of one language have in common, built once.
type shared struct {
	once sync.Once
	path string
}

var crate, scripts shared

// library is the crate merit-reward.
func (s *shared) library(t *testing.T) string {
	compiler := rust(t)
	s.once.Do(func() {
		s.path = filepath.Join(scratch(t), "libmerit_reward.rlib")
		inRoot(t, append(compiler, "--crate-type", "rlib", "--crate-name", "merit_reward", "-o", s.path, "sdk/rust/src/lib.rs")...)
	})
	return s.path
}

// modules is the folder of all rewards in AssemblyScript: one process that
// compiles them all takes a third of the time.
func (s *shared) modules(t *testing.T) string {
	asc := testneeds.Tool(t, "install Node.js, then: npm install --global assemblyscript@0.28.20", "asc")
	s.once.Do(func() {
		s.path = scratch(t)
		sources, err := filepath.Glob("compiled/assemblyscript/*.ts")
		require.NoError(t, err)
		sources = append(sources, "sees/sees.ts")
		for i := range sources {
			sources[i] = "sdk/conformance/zoo/" + sources[i]
		}
		inRoot(t, append([]string{"node", "sdk/conformance/zoo/compiled/asc.mjs", asc, s.path}, sources...)...)
	})
	return s.path
}

// scratch is a folder that outlives the test that asked first.
func scratch(t *testing.T) string {
	folder, err := os.MkdirTemp("", "zoo")
	require.NoError(t, err)
	return folder
}

// rust is how Rust is compiled.
func rust(t *testing.T) []string {
	tool := testneeds.Tool(t, "on Debian: apt-get install rustc libstd-rust-dev-wasm32", "/usr/bin/rustc", "rustc")
	return []string{tool, "--edition", "2021", "--target", "wasm32-unknown-unknown", "-C", "opt-level=2", "-C", "panic=abort", "-C", "codegen-units=1"}
}

// inRoot runs a command in the root of the repository. Go builds for WebAssembly.
func inRoot(t *testing.T, command ...string) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env = testneeds.Root(), append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	text, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s\n%s", strings.Join(command, " "), text)
}

// language is that of a reward of compiled, or empty.
func (s specimen) language() string {
	if parts := strings.Split(s.path(), "/"); parts[0] == "compiled" {
		return parts[1]
	}
	return ""
}

// module builds a reward of compiled.
func (s specimen) module(t *testing.T) string {
	out := filepath.Join(t.TempDir(), "reward.wasm")
	builders[s.language()](t, filepath.Join("sdk/conformance/zoo", s.path()), out)
	return out
}

// twin is the Python file that says the same as a reward of compiled.
func (s specimen) twin() string {
	name := filepath.Base(s.path())
	return filepath.Join("compiled", strings.TrimSuffix(name, filepath.Ext(name))+".py")
}

// Promise: every compiled language has at least five rewards in the zoo, and every
// file of compiled is one of them.
func TestCompiledRewards(t *testing.T) {
	testneeds.Slow(t, "compares hundreds of rewards with how they run natively")
	files := map[string][]string{}
	for _, s := range index(t) {
		if s.language() != "" {
			files[s.language()] = append(files[s.language()], filepath.Base(s.path()))
		}
	}
	for language := range builders {
		found, err := os.ReadDir(filepath.Join("compiled", language))
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(found), 5, language)
		for _, f := range found {
			require.True(t, slices.Contains(files[language], f.Name()), "%s/%s is not in index.yaml", language, f.Name())
		}
	}
}
