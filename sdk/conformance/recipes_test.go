package conformance_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/merit-rl/merit/core/testneeds"
	"github.com/stretchr/testify/require"
)

// The guests that exist in every language.
var programs = []string{"answer", "tools", "ranking", "conformance", "conformance_group"}

// toolchain builds the guests of one language. Commands run in the root of the
// repository, with paths relative to it: they are part of the bytes.
type toolchain struct {
	language string
	hint     string
	names    []string // of the program, first found first used
	programs []string
	commands func(program, scratch, out string) [][]string
}

// source returns the file of a program and whether it is built as a group
// reward by a switch.
func source(language, program, ext string) (string, bool) {
	base, group := strings.CutSuffix(program, "_group")
	if base == "conformance" || base == "heap" || base == "warm_up" {
		return "sdk/conformance/guests/" + language + "/" + base + ext, group
	}
	return "sdk/" + language + "/examples/" + program + ext, false
}

const debian = "on Debian: apt-get install clang lld wasi-libc libclang-rt-14-dev-wasm32 libc++-14-dev-wasm32 libc++abi-14-dev-wasm32 rustc libstd-rust-dev-wasm32"

// What heap is built with, beside what the other guests need.
const (
	rustWASI   = "wasm32-wasi"
	cppHeaders = "/usr/lib/llvm-14/include/wasm32-wasi/c++/v1"
)

// with adds to the programs of every language: the READMEs' minimal one; heap,
// which takes memory from a C library; and warm_up, which counts its calls.
func with(extra ...string) []string { return append(append([]string{}, programs...), extra...) }

func toolchains() []toolchain {
	return []toolchain{
		{"c", debian, []string{"clang"}, with("minimal", "warm_up"), func(program, scratch, out string) [][]string {
			src, group := source("c", program, ".c")
			return clang("clang", scratch, out, src, group, []string{"--target=wasm32"}, "-nostdlib", "-Wl,--no-entry")
		}},
		{"cpp", debian, []string{"clang++"}, with("heap", "warm_up"), func(program, scratch, out string) [][]string {
			src, group := source("c", program, ".c")
			if program == "answer" {
				src = "sdk/c/examples/answer.cpp"
			}
			compile := []string{"--target=wasm32-wasi", "-x", "c++", "-std=c++17", "-fno-exceptions", "-nostdinc++", "-isystem", cppHeaders}
			return clang("clang++", scratch, out, src, group, compile, "-mexec-model=reactor")
		}},
		{"rust", debian, []string{"/usr/bin/rustc", "rustc"}, with("minimal", "heap", "warm_up"), func(program, scratch, out string) [][]string {
			src, group := source("rust", program, ".rs")
			lib := filepath.Join(scratch, "libmerit_reward.rlib")
			target := "wasm32-unknown-unknown"
			if program == "heap" {
				target = rustWASI
			}
			common := []string{"--edition", "2021", "--target", target, "-C", "opt-level=2", "-C", "panic=abort", "-C", "codegen-units=1"}
			guest := append([]string{"rustc"}, common...)
			if group {
				guest = append(guest, "--cfg", "group")
			}
			return [][]string{
				append(append([]string{"rustc"}, common...), "--crate-type", "rlib", "--crate-name", "merit_reward", "-o", lib, "sdk/rust/src/lib.rs"),
				append(guest, "-C", "lto", "-C", "strip=symbols", "--crate-type", "cdylib", "--extern", "merit_reward="+lib, "-o", out, src),
			}
		}},
		{"assemblyscript", "install Node.js, then: npm install --global assemblyscript@0.28.20", []string{"asc"}, with("minimal", "warm_up"), func(program, _, out string) [][]string {
			src, group := source("assemblyscript", program, ".ts")
			if group {
				src = strings.TrimSuffix(src, ".ts") + "_group.ts"
			}
			return [][]string{{"asc", src, "-O3", "--runtime", "incremental", "--exportStart", "_initialize", "-o", out}}
		}},
	}
}

// clang compiles and links in two steps: one step with -O would run whatever
// wasm-opt is in the path over the result.
func clang(program, scratch, out, src string, group bool, compile []string, link ...string) [][]string {
	object := filepath.Join(scratch, "guest.o")
	first := append(append([]string{program}, compile...), "-O2", "-mbulk-memory", "-Wall", "-Wextra", "-Werror", "-Isdk/c")
	if group {
		first = append(first, "-DGROUP")
	}
	second := append([]string{program, compile[0]}, link...)
	return [][]string{
		append(first, "-c", "-o", object, src),
		append(second, "-Wl,--strip-all", "-Wl,--stack-first", "-Wl,-z,stack-size=65536", "-o", out, object),
	}
}

// find returns the program of c, or lets the test stand aside.
func (c toolchain) find(t testing.TB) string {
	program := testneeds.Tool(t, c.hint, c.names...)
	switch c.language {
	case "rust":
		dir, err := exec.Command(program, "--print", "target-libdir", "--target", rustWASI).Output()
		require.NoError(t, err)
		testneeds.File(t, c.hint, strings.TrimSpace(string(dir)))
	case "cpp":
		testneeds.File(t, c.hint, cppHeaders)
	}
	return program
}

// version is the first line of what the program says about itself.
func (c toolchain) version(t testing.TB, program string) string {
	text, err := exec.Command(program, "--version").Output()
	require.NoError(t, err)
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(line)
}

// build builds one guest from source.
func (c toolchain) build(t testing.TB, tool, program string) []byte {
	dir := t.TempDir()
	out := filepath.Join(dir, "out.wasm")
	for _, args := range c.commands(program, dir, out) {
		run(t, nil, append([]string{tool}, args[1:]...)...)
	}
	wasm, err := os.ReadFile(out)
	require.NoError(t, err)
	return wasm
}

// goPackages are the guests in Go: too large to commit, and always at hand.
var goPackages = map[string]string{
	"answer": "examples/gsm8k", "tools": "examples/tools", "ranking": "examples/ranking",
	"conformance": "sdk/conformance/guests/go/one", "conformance_group": "sdk/conformance/guests/go/group",
	"warm_up": "sdk/conformance/guests/go/warm_up",
}

func buildGo(t testing.TB, pkg string) []byte {
	out := filepath.Join(t.TempDir(), "out.wasm")
	run(t, []string{"GOOS=wasip1", "GOARCH=wasm"}, "go", "build", "-buildmode=c-shared", "-o", out, "./"+pkg)
	wasm, err := os.ReadFile(out)
	require.NoError(t, err)
	return wasm
}

func run(t testing.TB, env []string, args ...string) {
	cmd := exec.CommandContext(context.Background(), args[0], args[1:]...)
	cmd.Dir, cmd.Env = testneeds.Root(), append(os.Environ(), env...)
	text, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s\n%s", strings.Join(args, " "), text)
}
