package local

import (
	"errors"
	"fmt"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/fuel"
	"github.com/merit-rl/merit/sandbox/internal/profile"
	"github.com/merit-rl/merit/sandbox/internal/source"
)

// interpreterTable is the limit of table entries for interpreters: CPython's
// table has 11,802.
const interpreterTable = 20_000

// gate returns the limits of the gate. An interpreter is known by its digest,
// so only the limit of memory applies to it.
func (b *Backend) gate(interpreter bool) fuel.Limits {
	l := fuel.DefaultLimits()
	l.MemoryPages = b.options.MemoryMiB << 4
	if interpreter {
		l.TableEntries = interpreterTable
	} else {
		l.Bytes, l.TableEntries = b.options.ModuleMiB<<20, b.options.TableEntries
	}
	l.AllowImport = func(i fuel.Import) bool {
		exists, _ := engine.Known(b.engine.Imports(), i)
		theirs, _ := engine.Known(b.theirs, i)
		return exists && i.Kind == fuel.FuncExtern && (interpreter || !theirs)
	}
	return l
}

// examine finds out what kind of reward a module is that passed the gate. If it
// is not a reward, the error lists all reasons.
func (m *Module) examine(info *fuel.Info) error {
	problems := m.problems(info)
	if len(problems) == 0 {
		return m.granted(info)
	}
	var said []string
	for _, p := range problems {
		said = append(said, p.What)
	}
	return source.Refusal(m.info.Name, "the module is not a reward: "+strings.Join(said, "; "), ExportHint, nil)
}

// problems records what the gate found, and returns all reasons why the module
// is not a reward.
func (m *Module) problems(info *fuel.Info) []profile.Problem {
	var problems []profile.Problem
	if !m.script {
		m.profile, problems = profile.Detect(info)
	}
	for _, i := range info.Imports {
		if _, fits := engine.Known(m.backend.engine.Imports(), i); !fits {
			problems = append(problems, profile.Problem{What: fmt.Sprintf("it imports %s.%s as %v, which is not its signature", i.Module, i.Name, i.Func)})
		}
	}
	var err error
	if m.manifest, err = profile.ReadManifest(info); err != nil {
		problems = append(problems, profile.Problem{What: err.Error()})
	}
	if m.manifest.Name != "" {
		m.info.Name = m.manifest.Name
	}
	if m.profile != nil {
		m.info.ABI, m.info.Group, m.info.StepIndexing = m.profile.Name(), m.profile.Group(), m.manifest.StepIndex
	}
	return problems
}

// ExportHint explains, for each language, how to export the functions of a
// reward.
const ExportHint = `Go: import sdk/reward and build with -buildmode=c-shared; Rust: #[no_mangle] pub extern "C" fn and crate-type cdylib; ` +
	`C and C++: __attribute__((export_name("…"))) and a reactor build; AssemblyScript: export function`

// refused returns why the module was not compiled.
func (m *Module) refused(err error) error {
	wasm, _ := m.bytes.Read()
	return Rejection(m.info.Name, wasm, err)
}

// Rejection returns why a module of that name was not compiled, from the error of the
// engine.
func Rejection(name string, wasm []byte, err error) error {
	var gate *fuel.Refused
	switch {
	case fault.As(err) != nil:
		return err
	case errors.As(err, &gate):
		return source.Refusal(name, "the module was rejected", gateHint(wasm), err)
	case errors.Is(err, engine.ErrInvalid):
		return source.Refusal(name, "the module was rejected", "build it again; it may be damaged", err)
	}
	return source.Refusal(name, "the module cannot be compiled", "report it: a valid module should compile", err)
}

// gateHint returns the hint for a module that the gate rejected.
func gateHint(wasm []byte) string {
	if hint := NotCore(wasm); hint != "" {
		return hint
	}
	return "build without the features named above, or raise the limits named above if you trust the module"
}

// NotCore returns the hint for bytes that are not a core module, or "" if they
// look like one.
func NotCore(wasm []byte) string {
	switch {
	case len(wasm) < 4 || string(wasm[:4]) != "\x00asm":
		return "use the .wasm file that a compiler makes from the source, or a script: this is not a WebAssembly file"
	case len(wasm) >= 8 && wasm[4] == 0x0d:
		return "build a core module (wasm32-unknown-unknown or wasm32-wasip1), or extract it: this is a component"
	}
	return ""
}
