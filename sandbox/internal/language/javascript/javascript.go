// Package javascript is how rewards in JavaScript are run: QuickJS, driven
// through its exports.
package javascript

import (
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/profile"
	"github.com/merit-rl/merit/sandbox/internal/source"
	"github.com/merit-rl/merit/sandbox/interpreter"
	sdk "github.com/merit-rl/merit/sdk/js"
)

// Language implements source.Language.
type Language struct{}

// Extension implements source.Language.
func (Language) Extension() string { return ".js" }

// Interpreter implements source.Language.
func (Language) Interpreter() interpreter.Interpreter { return interpreter.JavaScript() }

// Brings implements source.Language.
func (Language) Brings() map[string][]byte {
	return map[string][]byte{
		moduleMerit: []byte(sdk.Merit), moduleSandbox: []byte(sdk.Sandbox), moduleMain: []byte(mainCode),
		moduleProgram: []byte(sdk.Program), "main of programs": []byte(programCode),
	}
}

// Open implements source.Language.
func (Language) Open(s *source.Script) (profile.Profile, engine.Process) {
	return javascript{s}, engine.Process{}
}

// Modules of the sandbox, by the names under which scripts import them.
const (
	moduleMerit   = "merit"
	moduleSandbox = "merit/sandbox"
	moduleProgram = "merit/program"
	moduleMain    = "merit/main"
)

const mainCode = "import * as reward from %q;\nimport { boot } from \"" + moduleSandbox + "\";\nboot(reward, %s, %s);\n"

const programCode = "import { answer } from \"" + moduleProgram + "\";\nglobalThis.__merit = { serve: answer };\n"

// Nested implements source.Language.
func (Language) Nested() (profile.Nested, engine.Process) { return programs{}, engine.Process{} }

// Imports implements source.Language. None of them does anything.
func (Language) Imports() []engine.Import {
	nothing := func(_ *engine.Instance, stack []uint64) {
		if len(stack) > 0 {
			stack[0] = 0
		}
	}
	var list []engine.Import
	for _, d := range [...]struct{ name, params, results string }{
		{"host_get_timezone_offset", "ii", "i"}, {"host_interrupt", "", "i"}, {"host_promise_rejection", "iii", ""},
		{"host_module_normalize", "ii", "i"}, {"host_module_load", "ii", "i"}, {"host_call", "iiiii", "i"},
	} {
		list = append(list, engine.Import{Module: "env", Name: d.name, Params: d.params, Results: d.results, Call: nothing})
	}
	return list
}
