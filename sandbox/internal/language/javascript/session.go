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
		quickjs: quickjs{instance: i, functions: map[string]*engine.Func{}}, script: p.script, collector: c,
		encode: encoder(l.InputMiB << 20), output: l.OutputKiB<<10 + l.LogKiB<<10,
	}
}

type session struct {
	quickjs
	script    *source.Script
	collector *result.Collector
	encode    profile.Encoder
	output    int // bytes of an answer, its log included
	memo
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

func (s *session) Start() *engine.Stop {
	return s.guard(func() error {
		s.call("_initialize")
		if s.call("qjs_init") != 0 {
			return errors.New("the interpreter did not start as it should")
		}
		s.call("qjs_set_max_stack_size", quickjsStack)
		s.Cell = s.call("wasm_malloc", 8)
		// A module that was compiled is found by those that import it.
		s.eval(moduleMerit, sdk.Merit, evalModule|evalCompileOnly)
		s.eval(moduleSandbox, sdk.Sandbox, evalModule|evalCompileOnly)
		s.compile()
		function, _ := json.Marshal(s.script.Function) // texts
		with, _ := json.Marshal(string(s.script.With))
		main := fmt.Sprintf(mainCode, s.script.Entry, function, with)
		s.settle(s.eval(moduleMain, main, evalModule))
		merit := s.property(s.call("qjs_get_global"), "__merit")
		s.Serve, s.Undefined = s.property(merit, "serve"), s.call("qjs_get_undefined")
		hello := s.text(s.property(merit, "hello"))
		if err := json.Unmarshal([]byte(hello), &s.Hello); err != nil {
			return fmt.Errorf("export const merit: %w", err)
		}
		return nil
	})
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

func (s *session) Memo() []byte {
	memo, _ := json.Marshal(s.memo) // numbers and strings
	return memo
}

func (s *session) Resume(memo []byte) error { return json.Unmarshal(memo, &s.memo) }

func (s *session) Lasting() bool { return true }

func (s *session) Input(members []*rl.Trajectory) ([]byte, error) { return s.encode(members) }

func (s *session) Evaluate(input []byte) (*result.Verdict, *engine.Stop) {
	var out []byte
	stop := s.guard(func() error {
		text := s.put(string(input))
		argument := s.call("qjs_new_string", text, uint32(len(input)))
		s.store(s.Cell, argument)
		answer := s.call("qjs_call", s.Serve, s.Undefined, 1, s.Cell)
		s.check(answer)
		at := s.call("qjs_get_string_len", answer, s.Cell)
		size := s.load(s.Cell)
		if int(size) > s.output {
			return result.OverOutput("output_kib")
		}
		view, _ := s.instance.Bytes(at, size)
		out = append(out, view...)
		s.instance.Charge(uint64(len(input)) + uint64(size))
		s.call("qjs_free_cstring", at)
		s.call("qjs_free_value", answer)
		s.call("qjs_free_value", argument)
		s.call("wasm_free", text)
		return nil
	})
	if stop != nil {
		return nil, stop
	}
	return s.take(out), nil
}

var _ profile.Describer = (*session)(nil)

// store and load move one word of guest memory.
func (s *session) store(at, v uint32) {
	if b, ok := s.instance.Bytes(at, 4); ok {
		binary.LittleEndian.PutUint32(b, v)
	}
}

func (s *session) load(at uint32) uint32 {
	b, ok := s.instance.Bytes(at, 4)
	if !ok {
		return 0
	}
	return binary.LittleEndian.Uint32(b)
}
