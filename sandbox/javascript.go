package sandbox

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/sandbox/fuel"
	"github.com/merit-rl/merit/sandbox/internal/engine"
	sdk "github.com/merit-rl/merit/sdk/js"
)

// javascript is the profile of rewards in JavaScript. QuickJS is a reactor that
// the host drives through its exports; requests and answers are JSON.
type javascript struct{ script *script }

func javascriptSource(s *script) source {
	return source{name: s.name, trusted: true, profile: func(*fuel.Info) (profile, []string) { return javascript{s}, nil }}
}

func (javascript) name() string { return "js" }
func (javascript) group() bool  { return false } // until the reward has said so

func (p javascript) open(i *engine.Instance, c *collector, limits Limits) session {
	return &javascriptSession{quickjs: quickjs{instance: i, functions: map[string]*engine.Func{}}, script: p.script, collector: c, encode: encodeJSONMembers(limits.InputMiB << 20)}
}

type javascriptSession struct {
	quickjs
	script    *script
	collector *collector
	encode    func([]*rl.Trajectory) ([]byte, error)
	javascriptMemo
}

// javascriptMemo is what the start of a script brings to light.
type javascriptMemo struct {
	Hello     javascriptHello
	Serve     uint32 // the function that answers requests
	Undefined uint32
	Cell      uint32 // room for one argument, and for a length
}

type javascriptHello struct {
	Group bool              `json:"group"`
	About map[string]string `json:"about"`
}

// quickjsStack is half of the stack that the interpreter was linked with: what
// its makers say is safe.
const quickjsStack = 512 << 10

// Modules of the sandbox, by the names under which scripts import them.
const (
	moduleMerit   = "merit"
	moduleSandbox = "merit/sandbox"
	moduleMain    = "merit/main"
)

const javascriptMain = "import * as reward from %q;\nimport { boot } from \"" + moduleSandbox + "\";\nboot(reward);\n"

func javascriptBrings() map[string][]byte {
	return map[string][]byte{moduleMerit: []byte(sdk.Merit), moduleSandbox: []byte(sdk.Sandbox), moduleMain: []byte(javascriptMain)}
}

func (s *javascriptSession) start() *engine.Stop {
	return s.guard(func() error {
		s.call(initialize)
		if s.call("qjs_init") != 0 {
			return errors.New("the interpreter did not start as it should")
		}
		s.call("qjs_set_max_stack_size", quickjsStack)
		s.Cell = s.call("wasm_malloc", 8)
		// A module that was compiled is found by those that import it.
		s.eval(moduleMerit, sdk.Merit, evalModule|evalCompileOnly)
		s.eval(moduleSandbox, sdk.Sandbox, evalModule|evalCompileOnly)
		s.compile()
		main := fmt.Sprintf(javascriptMain, s.script.entry)
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
func (s *javascriptSession) compile() {
	var waiting []string
	for _, name := range slices.Sorted(maps.Keys(s.script.files)) {
		if ext := path.Ext(name); ext == ".js" || ext == ".mjs" {
			waiting = append(waiting, name)
		}
	}
	for len(waiting) > 0 {
		var later []string
		for _, name := range waiting {
			if !s.compiles(name, string(s.script.files[name])) {
				later = append(later, name)
			}
		}
		if len(later) == len(waiting) {
			s.eval(later[0], string(s.script.files[later[0]]), evalModule|evalCompileOnly)
		}
		waiting = later
	}
}

// describe implements describer.
func (s *javascriptSession) describe() (map[string]string, bool) { return s.Hello.About, s.Hello.Group }

func (s *javascriptSession) memo() []byte {
	memo, _ := json.Marshal(s.javascriptMemo) // numbers and strings
	return memo
}

func (s *javascriptSession) resume(memo []byte) error { return json.Unmarshal(memo, &s.javascriptMemo) }

func (s *javascriptSession) lasting() bool { return true }

func (s *javascriptSession) input(members []*rl.Trajectory) ([]byte, error) { return s.encode(members) }

func (s *javascriptSession) evaluate(input []byte) (*verdict, *engine.Stop) {
	var out []byte
	stop := s.guard(func() error {
		text := s.put(string(input))
		argument := s.call("qjs_new_string", text, uint32(len(input)))
		s.store(s.Cell, argument)
		result := s.call("qjs_call", s.Serve, s.Undefined, 1, s.Cell)
		s.check(result)
		at := s.call("qjs_get_string_len", result, s.Cell)
		size := s.load(s.Cell)
		if int(size) > s.collector.limits.OutputKiB<<10+s.collector.limits.LogKiB<<10 {
			return overOutput("output_kib")
		}
		view, _ := s.instance.Bytes(at, size)
		out = append(out, view...)
		s.instance.Charge(uint64(len(input)) + uint64(size))
		s.call("qjs_free_cstring", at)
		s.call("qjs_free_value", result)
		s.call("qjs_free_value", argument)
		s.call("wasm_free", text)
		return nil
	})
	if stop != nil {
		return nil, stop
	}
	return s.take(out), nil
}

// take reads an answer.
func (s *javascriptSession) take(out []byte) *verdict {
	var a struct {
		Results []rl.EvaluateResult `json:"results"`
		Error   string              `json:"error"`
		Log     []string            `json:"log"`
	}
	c := s.collector
	if err := json.Unmarshal(out, &a); err != nil {
		return violation("the result is not an EvaluateResult: %s", escape(err.Error()))
	}
	for _, line := range a.Log {
		if err := c.appendLog([]byte(line + "\n")); err != nil {
			return asVerdict(err)
		}
	}
	switch {
	case a.Error != "" && s.instance.MemoryDenied():
		return &verdict{reward.OutOfMemory, "the reward was refused more memory (limits.memory_mib): " + escape(a.Error)}
	case a.Error != "":
		c.current = -1 // the error is all members'
		return asVerdict(c.setError([]byte(a.Error)))
	case len(a.Results) != len(c.members):
		return violation("the reward gave %d results for %d members", len(a.Results), len(c.members))
	}
	for i := range a.Results {
		c.current = i
		if v := c.takeResult(&a.Results[i]); v != nil {
			return v
		}
	}
	return nil
}

// encodeJSONMembers writes members as an array of trajectories, as Merit's
// files have them.
func encodeJSONMembers(limit int) func([]*rl.Trajectory) ([]byte, error) {
	var buffer strings.Builder
	return func(members []*rl.Trajectory) ([]byte, error) {
		buffer.Reset()
		buffer.WriteByte('[')
		enc := json.NewEncoder(&buffer)
		enc.SetEscapeHTML(false)
		for i, t := range members {
			if i > 0 {
				buffer.WriteByte(',')
			}
			request := *t
			request.Evaluation, request.Outcome = nil, ""
			if request.Messages == nil {
				request.Messages = []rl.Message{}
			}
			if err := enc.Encode(&request); err != nil {
				return nil, infrastructure(err)
			}
		}
		buffer.WriteByte(']')
		if buffer.Len() > limit {
			return nil, &verdict{reward.Infrastructure, "the input of the reward is larger than limits.input_mib allows"}
		}
		return []byte(buffer.String()), nil
	}
}

var _ describer = (*javascriptSession)(nil)

// store and load move one word of guest memory.
func (s *javascriptSession) store(at, v uint32) {
	if b, ok := s.instance.Bytes(at, 4); ok {
		binary.LittleEndian.PutUint32(b, v)
	}
}

func (s *javascriptSession) load(at uint32) uint32 {
	b, ok := s.instance.Bytes(at, 4)
	if !ok {
		return 0
	}
	return binary.LittleEndian.Uint32(b)
}
