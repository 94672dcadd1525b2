package guest_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/rewards/guest"
)

// build builds a reward with only the programs in a folder, each a shell script.
func build(t *testing.T, language string, programs map[string]string) (string, error) {
	t.Helper()
	bin := t.TempDir()
	for name, script := range programs {
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script), 0o700))
	}
	t.Setenv("PATH", bin)
	lang, err := guest.Find(language)
	require.NoError(t, err)
	wasm, err := lang.Build(context.Background(), t.TempDir())
	return string(wasm), err
}

// rustc is a fake rustc that knows some targets and has the libraries of others. It writes the
// name of the target as its output.
func rustc(t *testing.T, known, installed string) map[string]string {
	lib := t.TempDir()
	for target := range strings.FieldsSeq(installed) {
		require.NoError(t, os.MkdirAll(filepath.Join(lib, target), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(lib, target, "libstd-1.rlib"), nil, 0o600))
	}
	return map[string]string{"rustc": `
if [ "$1" = --version ]; then echo "rustc 1.95.0 (59807616e 2026-04-14)"; exit; fi
while [ $# -gt 0 ]; do
	case $1 in --target) target=$2;; -o) out=$2;; --print) print=yes;; esac
	shift
done
case " ` + known + ` " in
	*" $target "*) ;;
	*) echo "error: error loading target specification: could not find specification for target \"$target\"" >&2; exit 1;;
esac
if [ "$print" ]; then echo "` + lib + `/$target"; else printf %s "$target" > "$out"; fi
`}
}

// Promise: a Rust reward is built for a target that the installed rustc supports, under the
// name that its version uses.
func TestRustPicksItsTarget(t *testing.T) {
	const current, old = "wasm32-unknown-unknown wasm32-wasip1", "wasm32-unknown-unknown wasm32-wasi"
	for _, c := range []struct{ known, installed, want string }{
		{current, current, "wasm32-unknown-unknown"},
		{current, "wasm32-wasip1", "wasm32-wasip1"},
		{old, old, "wasm32-unknown-unknown"},
		{old, "wasm32-wasi", "wasm32-wasi"},
	} {
		got, err := build(t, "rust", rustc(t, c.known, c.installed))
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
}

// Promise: a missing or incomplete toolchain is reported as such, with instructions to install
// it; the source is not blamed.
func TestIncompleteToolchains(t *testing.T) {
	says := func(text string) string { return "echo '" + text + "' >&2\nexit 1\n" }
	clang14 := says(`clang: error: unable to execute command: Executable "wasm-ld" doesn'"'"'t exist!`)
	complete := rustc(t, "wasm32-unknown-unknown", "wasm32-unknown-unknown")["rustc"]
	for name, c := range map[string]struct {
		language   string
		programs   map[string]string
		what, hint string
	}{
		"no rustc":             {"rust", nil, "rustc is not installed", "rustup target add wasm32-unknown-unknown"},
		"rustc without target": {"rust", rustc(t, "wasm32-unknown-unknown wasm32-wasip1", ""), "rustc 1.95.0 (59807616e 2026-04-14) has no standard library for WebAssembly", "rustup target add wasm32-unknown-unknown"},
		"rustup without rustc": {"rust", map[string]string{"rustc": says("error: rustup could not choose a version of rustc to run")}, "rustup could not choose", "make rustc --version work"},
		"rustc without linker": {"rust", map[string]string{"rustc": strings.Replace(complete, `else printf`, `else echo "error: linker \`+"`rust-lld\\`"+` not found" >&2; exit 1; printf`, 1)}, "linker `rust-lld` not found", "lld"},
		"no clang":             {"c", nil, "clang is not installed", "apt-get install clang lld"},
		"clang without linker": {"c", map[string]string{"clang": clang14}, `"wasm-ld" doesn't exist`, "apt-get install clang lld"},
		"clang++ of Apple":     {"cpp", map[string]string{"clang++": says(`error: unable to create target: No available targets are compatible with triple "wasm32"`)}, "No available targets", "apt-get install clang lld"},
		"no asc":               {"assemblyscript", nil, "asc is not installed", "npm install assemblyscript@0.28.20"},
		"asc without node":     {"assemblyscript", map[string]string{"asc": says("env: ‘node’: No such file or directory")}, "No such file", "install Node.js"},
		"no go":                {"go", nil, "go is not installed", "https://go.dev/dl"},
		"old go":               {"go", map[string]string{"go": says("-buildmode=c-shared not supported on wasip1/wasm")}, "c-shared not supported", "install Go 1.26 or later"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := build(t, c.language, c.programs)
			var f *fault.Error
			require.ErrorAs(t, err, &f)
			require.Equal(t, fault.Missing, f.Kind)
			require.Contains(t, f.Error(), c.what)
			require.Contains(t, f.Hint, c.hint)
			require.NotContains(t, f.Hint, "correct the source")
		})
	}
}

// Promise: a complete compiler that rejects the source is not reported as incomplete.
func TestSourceIsToBlame(t *testing.T) {
	_, err := build(t, "c", map[string]string{"clang": "echo 'reward.c:1:1: error: unknown type name' >&2\nexit 1\n"})
	var f *fault.Error
	require.ErrorAs(t, err, &f)
	require.Equal(t, fault.Invalid, f.Kind)
	require.Contains(t, f.Hint, "correct the source")
}
