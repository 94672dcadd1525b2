// Package javascript runs rewards in JavaScript: it calls the exports of QuickJS.
package javascript

import (
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/profile"
	"github.com/merit-rl/merit/sandbox/internal/source"
	"github.com/merit-rl/merit/sandbox/interpreter"
	sdk "github.com/merit-rl/merit/sdk/js"
)

// Language implements source.Language: it runs scripts on one build of QuickJS-NG.
type Language struct{ build interpreter.Interpreter }

// New returns the language as the interpreters in a folder, and those shipped, run it.
func New(folder string) *Language { return On(interpreter.JavaScript().In(folder)) }

// On returns the language on a build.
func On(build interpreter.Interpreter) *Language { return &Language{build} }

// stack is how much stack scripts may take in bytes: half of what the build was linked with,
// since some functions take much between two checks.
func (l *Language) stack() uint32 {
	if l.build.Package == "" {
		return 1 << 20
	}
	return 512 << 10
}

// Extension implements source.Language.
func (*Language) Extension() string { return ".js" }

// Interpreter implements source.Language.
func (l *Language) Interpreter() interpreter.Interpreter { return l.build }

// Brings implements source.Language.
func (*Language) Brings() map[string][]byte {
	files := map[string][]byte{
		moduleMerit: []byte(sdk.Merit), moduleSandbox: []byte(sdk.Sandbox), moduleMain: []byte(mainCode), "main of programs": []byte(programCode),
	}
	for _, names := range [][]string{sandboxModules, codeModules, programModules} {
		for _, name := range names {
			files[moduleName(name)] = []byte(module(name))
		}
	}
	return files
}

// Open implements source.Language.
func (l *Language) Open(s *source.Script) (profile.Profile, engine.Process) {
	return javascript{s, l.stack()}, engine.Process{}
}

// The sandbox's modules, by the names under which scripts import them.
const (
	moduleMerit   = "merit"
	moduleSandbox = "merit/sandbox"
	moduleCode    = "merit/code"
	moduleAsk     = "merit/ask"
	askFile       = "ask.js"
	moduleMain    = "merit/main"
)

// The files of sdk/js that the sandbox's own module imports, and those of
// "merit/code" and of the program's side of it, each after the files that it
// imports.
var (
	sandboxModules = []string{"refusals.js", "timers.js"}
	codeModules    = []string{"inspect.js", "values.js", "assert.js", "programs.js", "candidate.js", "cases.js", "code.js"}
	programModules = []string{"inspect.js", "values.js", "assert.js", "shims.js", "program.js"}
)

func module(file string) string {
	data, _ := sdk.Modules.ReadFile(file) // embedded
	return string(data)
}

func moduleName(file string) string {
	switch file {
	case "code.js":
		return moduleCode
	case askFile:
		return moduleAsk
	}
	return "merit/" + file
}

const mainCode = "import { boot } from \"" + moduleSandbox + "\";\nimport * as reward from %q;\nboot(reward, %s, %s, %q, %d);\n"

const programCode = "import { boot, begin, turn } from \"merit/program.js\";\nboot({ compile: globalThis." + hostCompile + " });\ndelete globalThis." + hostCompile + ";\nglobalThis.__merit = { serve: begin, turn };\n"

// Nested implements source.Language.
func (l *Language) Nested() (profile.Nested, engine.Process) {
	return programs{l.stack()}, engine.Process{}
}

// Preload implements source.Language.
func (*Language) Preload() error { return nil }

// Imports implements source.Language. Only host_call does anything.
func (*Language) Imports() []engine.Import {
	nothing := func(_ *engine.Instance, stack []uint64) {
		if len(stack) > 0 {
			stack[0] = 0
		}
	}
	var list []engine.Import
	for _, d := range [...]struct{ name, params, results string }{
		{"host_get_timezone_offset", "ii", "i"}, {"host_interrupt", "", "i"}, {"host_promise_rejection", "iii", ""},
		{"host_module_normalize", "ii", "i"}, {"host_module_load", "ii", "i"},
	} {
		list = append(list, engine.Import{Module: "env", Name: d.name, Params: d.params, Results: d.results, Call: nothing})
	}
	return append(list, engine.Import{Module: "env", Name: "host_call", Params: "iiiii", Results: "i", Call: hostCall})
}
