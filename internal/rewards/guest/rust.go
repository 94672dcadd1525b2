package guest

import (
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/merit-rl/merit/sdk"
)

const debianRust = "with rustup: rustup target add wasm32-unknown-unknown; on Debian: apt-get install rustc libstd-rust-dev-wasm32 lld"

// rustTargets are the targets for rewards. The first one is the best, because it needs no
// system interface. The others are one target, which got its new name in Rust 1.78 and lost
// its old one in 1.84.
var rustTargets = []string{"wasm32-unknown-unknown", "wasm32-wasip1", "wasm32-wasi"}

// rustc returns a Commands that builds a folder and an SDK in it with plain rustc, which needs no
// network.
func rustc(sdk string) func(ctx context.Context, folder, out string) ([]Command, error) {
	return func(ctx context.Context, folder, out string) ([]Command, error) {
		target, err := rustTarget(ctx, folder)
		if err != nil {
			return nil, err
		}
		crate := strings.ReplaceAll(sdk, "-", "_")
		common := []string{"rustc", "--edition", "2021", "--target", target, "-C", "opt-level=2", "-C", "panic=abort", "-C", "codegen-units=1"}
		lib := filepath.Join(filepath.Dir(out), "lib"+crate+".rlib")
		first := append(append([]string{}, common...), "--crate-type", "rlib", "--crate-name", crate, "-o", lib, sdk+"/src/lib.rs")
		second := append(append([]string{}, common...), "-C", "lto", "-C", "strip=symbols", "--crate-type", "cdylib",
			"--extern", crate+"="+lib, "-o", out, "src/lib.rs")
		return []Command{{Dir: folder, Args: first}, {Dir: folder, Args: second}}, nil
	}
}

func rust() Language {
	return Language{
		Name:     "rust",
		Title:    "Rust",
		Detect:   has("src/lib.rs"),
		Needs:    map[string]string{"rustc": debianRust},
		Commands: rustc("merit-reward"),
		Sources:  trees(anyFile, "src", "merit-reward/src"),
		Lacks:    regexp.MustCompile("linker `[^`]+` not found|can't find crate for `(core|std)`|target may not be installed"),
		Template: "rust",
		SDK:      []Copy{{sdk.Files, "rust/Cargo.toml", "merit-reward"}, {sdk.Files, "rust/src", "merit-reward/src"}},
		Export: func(name string) string {
			if name == "merit_evaluate_group" {
				return `use merit_reward::register_group and write register_group!(rank);`
			}
			return `use merit_reward::register, write register!(score); and set crate-type = ["cdylib"]`
		},
	}
}

// rustTarget returns the first target whose standard library is installed for the rustc of a
// folder, or the first of rustTargets if there is no rustc.
func rustTarget(ctx context.Context, folder string) (string, error) {
	rustc, err := lookUp("rustc", folder)
	if err != nil {
		return rustTargets[0], nil // running it reports what is missing
	}
	ask := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, rustc, args...)
		cmd.Dir = folder // a folder can choose a toolchain
		text, err := cmd.CombinedOutput()
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return strings.TrimSpace(string(text)), err
	}
	version, err := ask("--version")
	if ctx.Err() != nil {
		return "", err
	} else if err != nil {
		return "", incomplete(rustc, "does not work:\n"+version, "make rustc --version work; "+debianRust)
	}
	for _, target := range rustTargets {
		dir, err := ask("--print", "target-libdir", "--target", target)
		if err != nil {
			continue // not a target of this version
		}
		if found, _ := filepath.Glob(filepath.Join(dir, "libstd*.rlib")); len(found) > 0 {
			return target, nil
		}
	}
	return "", incomplete(rustc, version+" has no standard library for WebAssembly ("+strings.Join(rustTargets, ", ")+")", debianRust)
}
