package rewards

import (
	"errors"
	"fmt"
	"os"

	"github.com/merit-rl/merit/cmd/merit/internal/console"
	"github.com/merit-rl/merit/cmd/merit/internal/guest"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sandbox/fuel"
)

// staticProblems says everything that is wrong with the module in a file, as
// far as it shows without running it, and how to mend it in the language that
// the module, or else the folder at source, is written in.
func staticProblems(module, source string, limits sandbox.Limits) error {
	wasm, err := os.ReadFile(module)
	if err != nil {
		return console.CannotRead(err)
	}
	gate := fuel.DefaultLimits()
	gate.Bytes, gate.MemoryPages, gate.TableEntries = limits.ModuleMiB<<20, limits.MemoryMiB<<4, limits.TableEntries
	info, err := fuel.Inspect(wasm, gate)
	var refused *fuel.Refused
	if errors.As(err, &refused) {
		return refusals(module, refused)
	} else if err != nil {
		return err
	}
	if abiOf(info) == "command" {
		return nil
	}
	how := guest.AnyLanguage
	if lang, ok := guest.Made(info); ok {
		how = lang.Export
	} else if lang, _, err := guest.Detect(source); err == nil && lang.Script == "" {
		how = lang.Export
	}
	var problems []error
	for _, e := range wantedExports(info) {
		problems = append(problems, &fault.Error{
			Boundary: fault.Sandbox, Kind: fault.Refused, Where: module, What: e.problem, Hint: how(e.name),
		})
	}
	return errors.Join(problems...)
}

type wantedExport struct{ name, problem string }

// wantedExports lists what the flat ABI asks for and info lacks.
func wantedExports(info *fuel.Info) (missing []wantedExport) {
	need := func(name, signature string) bool {
		e, ok := info.Export(name)
		if ok && (signature == "" || e.Func.String() == signature) {
			return true
		}
		problem := fmt.Sprintf("does not export %s %s", name, signature)
		if ok {
			problem = fmt.Sprintf("exports %s as %s, expected %s", name, e.Func, signature)
		}
		missing = append(missing, wantedExport{name, problem})
		return false
	}
	need("memory", "")
	need("merit_abi_1", "() -> ()")
	need("merit_alloc", "(i32) -> i32")
	if _, group := info.Export("merit_evaluate_group"); group {
		need("merit_evaluate_group", "(i32, i32) -> i32")
		return missing
	}
	need("merit_evaluate", "(i32, i32) -> i32")
	return missing
}
