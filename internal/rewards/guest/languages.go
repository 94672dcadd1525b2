package guest

import (
	"context"
	"io/fs"
	"os"
	"regexp"

	"github.com/merit-rl/merit/sdk"
	sdkpython "github.com/merit-rl/merit/sdk/python"
)

// Languages returns the table. If a folder matches several languages, the first one is used.
func Languages() []Language {
	return []Language{golang(), rust(), c(), cpp(), assemblyScript(), python(), javaScript()}
}

// Instructions to install a toolchain.
const (
	debianC = "on Debian: apt-get install clang lld"
	npmAS   = "install Node.js, then, in the folder of the source: npm install assemblyscript@0.28.20"
)

func golang() Language {
	return Language{
		Name:   "go",
		Title:  "Go",
		Detect: has("*.go"),
		Needs:  map[string]string{"go": "install Go 1.26 or later from https://go.dev/dl"},
		Commands: func(_ context.Context, folder, out string) ([]Command, error) {
			return []Command{{
				Dir:  folder,
				Env:  []string{"GOOS=wasip1", "GOARCH=wasm"},
				Args: []string{"go", "build", "-trimpath", "-buildvcs=false", "-buildmode=c-shared", "-ldflags=-s -w", "-o", out, "."},
			}}, nil
		},
		Sources:  goSources,
		Lacks:    regexp.MustCompile(`unsupported GOOS/GOARCH|c-shared not supported|requires go >=|toolchain not available`),
		Test:     []string{"go", "test"},
		Template: "go",
		SDK:      []Copy{{sdk.Files, "reward", "vendor/github.com/merit-rl/merit/sdk/reward"}},
		Export: func(name string) string {
			if name == "merit_evaluate_group" {
				return `import "github.com/merit-rl/merit/sdk/reward/group" and call group.Register in an init function`
			}
			return `import "github.com/merit-rl/merit/sdk/reward", call reward.Register in an init function, and build with merit reward build (go build -buildmode=c-shared)`
		},
	}
}

// clang returns a Commands that builds the files that match pattern, without a C library.
func clang(compiler, pattern string, flags ...string) func(ctx context.Context, folder, out string) ([]Command, error) {
	return func(_ context.Context, folder, out string) ([]Command, error) {
		args := append([]string{compiler, "--target=wasm32", "-O2", "-mbulk-memory", "-Wall", "-Wextra", "-nostdlib", "-I."}, flags...)
		args = append(args, "-Wl,--no-entry", "-Wl,--strip-all", "-Wl,--stack-first", "-Wl,-z,stack-size=65536", "-o", out)
		sources, _ := fs.Glob(os.DirFS(folder), pattern) // the pattern is valid
		return []Command{{Dir: folder, Args: append(args, sources...)}}, nil
	}
}

// clangLacks matches the errors of a clang without a linker or without WebAssembly.
var clangLacks = regexp.MustCompile(`wasm-ld.*(doesn't exist|not found|No such file)|invalid linker name|No available targets|unable to create target|unknown target triple`)

func exportC(name string) string {
	if name == "merit_evaluate_group" {
		return `include "merit_reward.h" and write MERIT_REGISTER_GROUP(rank)`
	}
	return `include "merit_reward.h", write MERIT_REGISTER(score), and link with -Wl,--no-entry`
}

func c() Language {
	return Language{
		Name: "c", Title: "C", Detect: has("*.c"), Needs: map[string]string{"clang": debianC}, Commands: clang("clang", "*.c"), Sources: trees(cSource, "."), Lacks: clangLacks,
		Template: "c", SDK: []Copy{{sdk.Files, "c/merit_reward.h", "."}, {sdk.Files, "c/merit_ask.h", "."}}, Export: exportC,
	}
}

func cpp() Language {
	return Language{
		Name: "cpp", Title: "C++", Detect: has("*.cpp", "*.cc"), Needs: map[string]string{"clang++": debianC},
		Commands: clang("clang++", "*.c[pc]*", "-std=c++17", "-fno-exceptions", "-fno-rtti"), Sources: trees(cSource, "."), Lacks: clangLacks,
		Template: "cpp", SDK: []Copy{{sdk.Files, "c/merit_reward.h", "."}, {sdk.Files, "c/merit_ask.h", "."}}, Export: exportC,
	}
}

// asc returns a Commands that builds a file.
func asc(file string) func(ctx context.Context, folder, out string) ([]Command, error) {
	return func(_ context.Context, folder, out string) ([]Command, error) {
		return []Command{{Dir: folder, Args: []string{"asc", file, "-O3", "--runtime", "incremental", "--exportStart", "_initialize", "-o", out}}}, nil
	}
}

func assemblyScript() Language {
	return Language{
		Name:     "assemblyscript",
		Title:    "AssemblyScript",
		Detect:   has("reward.ts"),
		Needs:    map[string]string{"asc": npmAS},
		Commands: asc("reward.ts"),
		Sources:  trees(tsSource, "."),
		Lacks:    regexp.MustCompile(`node.*(No such file|not found)`),
		Template: "assemblyscript",
		SDK:      []Copy{{sdk.Files, "assemblyscript/assembly", "merit-reward"}},
		Export: func(name string) string {
			if name == "merit_evaluate_group" {
				return `call registerGroup(rank) and write export { merit_abi_1, merit_alloc, merit_evaluate_group } from "./merit-reward/index"`
			}
			return `call register(score) and write export { merit_abi_1, merit_alloc, merit_evaluate } from "./merit-reward/index"`
		},
	}
}

// python describes rewards that run from source. New rewards get the SDK for editors and for
// tests outside the sandbox; the sandbox has its own.
func python() Language {
	return Language{
		Name:     "python",
		Title:    "Python",
		Detect:   has("reward.py"),
		Script:   "reward.py",
		Test:     []string{"python3", "-m", "unittest"},
		Template: "python",
		SDK:      []Copy{{sdkpython.Files, "merit_reward", "merit_reward"}},
		Export: func(name string) string {
			if name == "merit_evaluate_group" {
				return `from merit_reward import reward_function and write @reward_function(mode="batch") before def score(rollouts_messages, **kwargs)`
			}
			return `from merit_reward import reward_function and write @reward_function before def score(messages, ground_truth=None, **kwargs)`
		},
	}
}

// javaScript describes rewards that run from source. New rewards get the module "merit" for
// editors and for tests outside the sandbox; the sandbox has its own.
func javaScript() Language {
	return Language{
		Name:     "js",
		Title:    "JavaScript",
		Detect:   has("reward.js"),
		Script:   "reward.js",
		Test:     []string{"node", "--test"},
		Template: "js",
		SDK:      []Copy{{sdk.Files, "js", "merit"}},
		Export: func(name string) string {
			if name == "merit_evaluate_group" {
				return `write export function rewardGroup(rollouts) { … }`
			}
			return `write export default function (rollout) { … }`
		},
	}
}
