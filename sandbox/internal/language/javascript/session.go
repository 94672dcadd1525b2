package javascript

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/limits"
	"github.com/merit-rl/merit/sandbox/internal/profile"
	"github.com/merit-rl/merit/sandbox/internal/result"
	"github.com/merit-rl/merit/sandbox/internal/source"
	sdk "github.com/merit-rl/merit/sdk/js"
)

// javascript is the profile of rewards in JavaScript. QuickJS is a reactor that
// the host drives through its exports; requests and answers are JSON.
type javascript struct{ script *source.Script }

func (javascript) Name() string { return "js" }
func (javascript) Group() bool  { return false } // until the reward has said so

func (p javascript) Open(i *engine.Instance, c *result.Collector, l limits.Limits) profile.Session {
	return &session{
		guest: newGuest(i, l.OutputKiB<<10+l.LogKiB<<10), script: p.script, collector: c, encode: encoder(l.InputMiB << 20),
	}
}

type session struct {
	guest
	script    *source.Script
	collector *result.Collector
	encode    profile.Encoder
}

// guest is QuickJS in an instance, with a function that answers requests.
type guest struct {
	quickjs
	memo
	output int // bytes of an answer, its log included
}

func newGuest(i *engine.Instance, output int) guest {
	return guest{quickjs: quickjs{instance: i, functions: map[string]*engine.Func{}}, output: output}
}

// memo is what the start of a script brings to light.
type memo struct {
	Hello     hello
	Serve     uint32 // the function that answers requests
	Undefined uint32
	Cell      uint32 // room for one argument, and for a length
}

type hello struct {
	Group bool              `json:"group"`
	About map[string]string `json:"about"`
}

// quickjsStack is half of the stack that the interpreter was linked with: what
// its makers say is safe.
const quickjsStack = 512 << 10

// Start implements profile.Guest.
func (s *session) Start() *engine.Stop {
	return s.guard(func() error {
		if err := s.init(); err != nil {
			return err
		}
		// A module that was compiled is found by those that import it.
		s.eval(moduleMerit, sdk.Merit, evalModule|evalCompileOnly)
		s.eval(moduleSandbox, sdk.Sandbox, evalModule|evalCompileOnly)
		s.compile()
		function, _ := json.Marshal(s.script.Function) // texts
		with, _ := json.Marshal(string(s.script.With))
		merit := s.run(fmt.Sprintf(mainCode, s.script.Entry, function, with))
		hello := s.text(s.property(merit, "hello"))
		if err := json.Unmarshal([]byte(hello), &s.Hello); err != nil {
			return fmt.Errorf("export const merit: %w", err)
		}
		return nil
	})
}

// init starts the interpreter.
func (i *guest) init() error {
	i.call("_initialize")
	if i.call("qjs_init") != 0 {
		return errors.New("the interpreter did not start as it should")
	}
	i.call("qjs_set_max_stack_size", quickjsStack)
	i.Cell = i.call("wasm_malloc", 8)
	return nil
}

// run runs the main module and returns what it leaves for the host.
func (i *guest) run(main string) (merit uint32) {
	i.settle(i.eval(moduleMain, main, evalModule))
	merit = i.property(i.call("qjs_get_global"), "__merit")
	i.Serve, i.Undefined = i.property(merit, "serve"), i.call("qjs_get_undefined")
	return merit
}

// compile compiles the script's files. A file whose imports are not there yet
// waits for the next round, whatever the files are called; when a round brings
// nothing, the first that waits says what is wrong.
func (s *session) compile() {
	var waiting []string
	for _, name := range slices.Sorted(maps.Keys(s.script.Files)) {
		if ext := path.Ext(name); ext == ".js" || ext == ".mjs" {
			waiting = append(waiting, name)
		}
	}
	for len(waiting) > 0 {
		var later []string
		for _, name := range waiting {
			if !s.compiles(name, string(s.script.Files[name])) {
				later = append(later, name)
			}
		}
		if len(later) == len(waiting) {
			s.eval(later[0], string(s.script.Files[later[0]]), evalModule|evalCompileOnly)
		}
		waiting = later
	}
}

// Describe implements profile.Describer.
func (s *session) Describe() profile.Description {
	return profile.Description{About: s.Hello.About, Group: s.Hello.Group}
}

// Memo implements profile.Guest.
func (i *guest) Memo() []byte {
	memo, _ := json.Marshal(i.memo) // numbers and strings
	return memo
}

// Resume implements profile.Guest.
func (i *guest) Resume(memo []byte) error { return json.Unmarshal(memo, &i.memo) }

func (s *session) Lasting() bool { return true }

func (s *session) Input(members []*rl.Trajectory) ([]byte, error) { return s.encode(members) }

func (s *session) Evaluate(input []byte) (*result.Verdict, *engine.Stop) {
	out, stop := s.exchange(input, result.OverOutput("output_kib"))
	if stop != nil {
		return nil, stop
	}
	return s.take(out), nil
}

var _ profile.Describer = (*session)(nil)

// exchange calls the function that answers; tooLong is the verdict on an answer
// that is.
func (i *guest) exchange(input []byte, tooLong *result.Verdict) (out []byte, stop *engine.Stop) {
	stop = i.guard(func() error {
		text := i.put(string(input))
		argument := i.call("qjs_new_string", text, uint32(len(input)))
		i.store(i.Cell, argument)
		answer := i.call("qjs_call", i.Serve, i.Undefined, 1, i.Cell)
		i.check(answer)
		at := i.call("qjs_get_string_len", answer, i.Cell)
		size := i.load(i.Cell)
		if int(size) > i.output {
			return tooLong
		}
		view, _ := i.instance.Bytes(at, size)
		out = append(out, view...)
		i.instance.Charge(uint64(len(input)) + uint64(size))
		i.call("qjs_free_cstring", at)
		i.call("qjs_free_value", answer)
		i.call("qjs_free_value", argument)
		i.call("wasm_free", text)
		return nil
	})
	return out, stop
}

// store and load move one word of guest memory.
func (i *guest) store(at, v uint32) {
	if b, ok := i.instance.Bytes(at, 4); ok {
		binary.LittleEndian.PutUint32(b, v)
	}
}

func (i *guest) load(at uint32) uint32 {
	b, ok := i.instance.Bytes(at, 4)
	if !ok {
		return 0
	}
	return binary.LittleEndian.Uint32(b)
}
