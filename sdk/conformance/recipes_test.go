package conformance_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/merit-rl/merit/internal/base/testneeds"
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
	if base == "conformance" || base == "heap" || base == "refused" || base == "warm_up" {
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
// which takes memory from a C library; warm_up, which counts its calls; and refused,
// which tries what no reward may.
func with(extra ...string) []string { return append(append([]string{}, programs...), extra...) }

func toolchains() []toolchain {
	return []toolchain{
		{"c", debian, []string{"clang"}, with("minimal", "warm_up"), func(program, scratch, out string) [][]string {
			src, group := source("c", program, ".c")
			return clang("clang", scratch, out, src, group, []string{"--target=wasm32"}, "-nostdlib", "-Wl,--no-entry")
		}},
		{"cpp", debian, []string{"clang++"}, with("heap", "warm_up", "refused"), func(program, scratch, out string) [][]string {
			src, group := source("c", program, ".c")
			if program == "answer" {
				src = "sdk/c/examples/answer.cpp"
			} else if program == trial {
				src = filepath.Join(scratch, "trial.cpp")
			}
			compile := []string{"--target=wasm32-wasi", "-x", "c++", "-std=c++17", "-fno-exceptions", "-nostdinc++", "-isystem", cppHeaders}
			return clang("clang++", scratch, out, src, group, compile, "-mexec-model=reactor")
		}},
		{"rust", debian, []string{"rustc", "/usr/bin/rustc"}, with("minimal", "heap", "warm_up", "refused"), func(program, scratch, out string) [][]string {
			src, group := source("rust", program, ".rs")
			lib := filepath.Join(scratch, "libmerit_reward.rlib")
			target := "wasm32-unknown-unknown"
			if program == "heap" || program == "refused" {
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

// compiler is the program of a toolchain that this machine has. The committed
// guests were made with the pinned one; others may give other bytes.
type compiler struct {
	path, version string
	pinned        bool
}

// find returns the program of c, or lets the test stand aside. Made is the
// version that the committed guests were made with.
func (c toolchain) find(t testing.TB, made string) compiler {
	path := testneeds.Tool(t, c.hint, c.names...)
	text, err := exec.Command(path, "--version").Output()
	require.NoError(t, err)
	version, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	tool := compiler{path, version, made == "" || version == made}
	if c.language == "cpp" {
		c.try(t, tool)
	}
	return tool
}

// trial is a program that asks for the libraries of C and C++.
const trial = "trial"

// try lets the test stand aside if the libraries for a guest in C++ are not
// there.
func (c toolchain) try(t testing.TB, tool compiler) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "trial.cpp"), []byte("#include <string>\nstd::string *f() { return new std::string(\"f\"); }\n"), 0o600))
	for _, args := range c.commands(trial, dir, filepath.Join(dir, "trial.wasm")) {
		if text, err := command(nil, c.fit(t, tool, args)...); err != nil {
			testneeds.Aside(t, fmt.Sprintf("%s does not build C++ for WebAssembly (%s); %s", tool.path, testneeds.Said(text), c.hint))
		}
	}
}

// fit changes a command to what a compiler needs: targets and folders have
// other names with other versions, and other versions have other warnings. It
// lets the test stand aside if the compiler lacks what the command asks for.
func (c toolchain) fit(t testing.TB, tool compiler, command []string) []string {
	fitted := append([]string{tool.path}, command[1:]...)
	for i, arg := range fitted {
		switch {
		case arg == rustWASI:
			fitted[i] = testneeds.RustTarget(t, c.hint, tool.path, "wasm32-wasip1", rustWASI)
		case arg == cppHeaders && !tool.pinned:
			dir, err := exec.Command(tool.path, "-print-resource-dir").Output()
			require.NoError(t, err)
			fitted[i] = filepath.Join(strings.TrimSpace(string(dir)), "../../../include/wasm32-wasi/c++/v1")
		}
		if _, err := os.Stat(fitted[i]); arg == cppHeaders && err != nil {
			testneeds.Aside(t, "the C++ library for WebAssembly is missing ("+fitted[i]+"); "+c.hint)
		}
	}
	if tool.pinned {
		return fitted
	}
	return slices.DeleteFunc(fitted, func(arg string) bool { return arg == "-Werror" })
}

// build builds one guest from source. If a compiler that is not the pinned one
// cannot, the test stands aside.
func (c toolchain) build(t testing.TB, tool compiler, program string) []byte {
	dir := t.TempDir()
	out := filepath.Join(dir, "out.wasm")
	for _, args := range c.commands(program, dir, out) {
		args = c.fit(t, tool, args)
		text, err := command(nil, args...)
		if err != nil && !tool.pinned {
			testneeds.Aside(t, fmt.Sprintf("%s (%s) does not build this guest: %s; %s", tool.path, tool.version, testneeds.Said(text), c.hint))
		}
		require.NoError(t, err, "%s\n%s", strings.Join(args, " "), text)
	}
	wasm, err := os.ReadFile(out)
	require.NoError(t, err)
	return wasm
}

// goPackages are the guests in Go: too large to commit, and always at hand.
var goPackages = map[string]string{
	"answer": "examples/gsm8k", "tools": "examples/tools", "ranking": "examples/ranking",
	"conformance": "sdk/conformance/guests/go/one", "conformance_group": "sdk/conformance/guests/go/group",
	"warm_up": "sdk/conformance/guests/go/warm_up", "refused": "sdk/conformance/guests/go/refused",
}

func buildGo(t testing.TB, pkg string) []byte {
	out := filepath.Join(t.TempDir(), "out.wasm")
	run(t, []string{"GOOS=wasip1", "GOARCH=wasm"}, "go", "build", "-buildmode=c-shared", "-o", out, "./"+pkg)
	wasm, err := os.ReadFile(out)
	require.NoError(t, err)
	return wasm
}

func run(t testing.TB, env []string, args ...string) {
	text, err := command(env, args...)
	require.NoError(t, err, "%s\n%s", strings.Join(args, " "), text)
}

// command runs a program in the root of the repository and returns what it
// said.
func command(env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(context.Background(), args[0], args[1:]...)
	cmd.Dir, cmd.Env = testneeds.Root(), append(os.Environ(), env...)
	text, err := cmd.CombinedOutput()
	return string(text), err
}
