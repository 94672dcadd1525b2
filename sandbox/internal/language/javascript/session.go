package javascript

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/limits"
	"github.com/merit-rl/merit/sandbox/internal/profile"
	"github.com/merit-rl/merit/sandbox/internal/result"
	"github.com/merit-rl/merit/sandbox/internal/source"
	"github.com/merit-rl/merit/sandbox/internal/text"
	sdk "github.com/merit-rl/merit/sdk/js"
)

// javascript is the profile of rewards in JavaScript. QuickJS is a reactor that
// the host drives through its exports; requests and answers are JSON.
type javascript struct {
	script *source.Script
	stack  uint32
}

func (javascript) Name() string { return "js" }
func (javascript) Group() bool  { return false } // until the reward has described itself

func (p javascript) Open(i *engine.Instance, c *result.Collector, l limits.Limits) profile.Session {
	s := &session{
		guest: newGuest(i, p.stack, l.OutputKiB<<10+logAsJSON*l.LogKiB<<10), script: p.script, collector: c, encode: encoder(l.InputMiB << 20), log: l.LogKiB << 10,
	}
	i.Host = &s.host
	return s
}

type session struct {
	guest
	script    *source.Script
	collector *result.Collector
	encode    profile.Encoder
	log       int // characters that the script keeps of what it logs
}

// logAsJSON is the maximum number of bytes of one log character in an answer.
const logAsJSON = 6

// guest is QuickJS in an instance, with a function that answers requests.
type guest struct {
	quickjs
	memo
	host   quickjs // for nested calls, because a function cannot be called while it runs
	stack  uint32
	output int // bytes of an answer, its log included
}

func newGuest(i *engine.Instance, stack uint32, output int) guest {
	return guest{quickjs: newQuickjs(i), host: newQuickjs(i), stack: stack, output: output}
}

// memo is what the start of a script found out.
type memo struct {
	Hello     hello
	Serve     uint32 // the function that answers requests
	Turn      uint32 // the function that continues when there is nothing left to run
	Undefined uint32
	Cell      uint32 // memory for the arguments of a call, and for a length
}

type hello struct {
	Group bool              `json:"group"`
	Entry reward.Entry      `json:"entry"`
	About map[string]string `json:"about"`
	// Refused is what the module requested while it was loaded and did not get.
	Refused []reward.Refusal `json:"refused"`
}

// Start implements profile.Guest.
func (s *session) Start() *engine.Stop {
	return s.guard(func() error {
		if err := s.init(); err != nil {
			return err
		}
		// Compiled modules are found by the modules that import them.
		s.eval(moduleMerit, sdk.Merit, evalModule|evalCompileOnly)
		s.library(sandboxModules)
		s.eval(moduleSandbox, sdk.Sandbox, evalModule|evalCompileOnly)
		if s.script.Mentions(moduleCode) || s.script.Uses(moduleAsk, moduleMerit) {
			s.install(hostChannel)
		}
		if s.script.Mentions(moduleCode) {
			s.library(codeModules)
		}
		if s.script.Uses(moduleAsk, moduleMerit) {
			s.library([]string{askFile})
		}
		s.compile(s.script)
		function, _ := json.Marshal(s.script.Function) // strings always marshal
		with, _ := json.Marshal(string(s.script.With))
		merit := s.run(fmt.Sprintf(mainCode, s.script.Entry, function, with, s.script.Batch, s.log))
		s.Turn = s.property(merit, "turn")
		hello := s.text(s.property(merit, "hello"))
		if err := strictjson.Unmarshal([]byte(hello), &s.Hello); err != nil {
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
	i.call("qjs_set_max_stack_size", i.stack)
	i.Cell = i.call("wasm_malloc", 4*(1+mostTexts))
	return nil
}

// library compiles modules of Merit's own.
func (i *guest) library(files []string) {
	for _, file := range files {
		i.eval(moduleName(file), module(file), evalModule|evalCompileOnly)
	}
}

// run runs the main module and returns what it provides for the host.
func (i *guest) run(main string) (merit uint32) {
	i.settle(i.eval(moduleMain, main, evalModule))
	merit = i.property(i.call("qjs_get_global"), "__merit")
	i.Serve, i.Undefined = i.property(merit, "serve"), i.call("qjs_get_undefined")
	return merit
}

// compile compiles the script's files. A file whose imports are not available
// yet waits for the next round, whatever the names of the files. If a round
// compiles nothing, the error of the first waiting file is returned.
func (i *guest) compile(script *source.Script) {
	var waiting []string
	for _, name := range slices.Sorted(maps.Keys(script.Files)) {
		if ext := path.Ext(name); ext == ".js" || ext == ".mjs" {
			waiting = append(waiting, name)
		}
	}
	for len(waiting) > 0 {
		var later []string
		for _, name := range waiting {
			if !i.compiles(name, string(script.Files[name])) {
				later = append(later, name)
			}
		}
		if len(later) == len(waiting) {
			i.eval(later[0], string(script.Files[later[0]]), evalModule|evalCompileOnly)
		}
		waiting = later
	}
}

// Describe implements profile.Describer.
func (s *session) Describe() profile.Description {
	return profile.Description{
		About: s.Hello.About, Group: s.Hello.Group, Entry: profile.Believed(&s.Hello.Entry), Refused: reward.Told(s.Hello.Refused, text.Escape),
	}
}

// Memo implements profile.Guest.
func (i *guest) Memo() []byte {
	memo, _ := json.Marshal(i.memo) // numbers and strings always marshal
	return memo
}

// Resume implements profile.Guest.
func (i *guest) Resume(memo []byte) error { return strictjson.Unmarshal(memo, &i.memo) }

func (s *session) Lasting() bool { return true }

func (s *session) Input(members []*rl.Trajectory) ([]byte, error) { return s.encode(members) }

func (s *session) Evaluate(input []byte) (v *result.Verdict, stop *engine.Stop) {
	var out []byte
	stop = s.guard(func() error {
		text, sizes := split(input)
		arguments := s.strings(text, sizes)
		answer := s.invoke(s.Serve, arguments...)
		for _, a := range arguments {
			s.call("qjs_free_value", a)
		}
		for {
			if out = s.taken(answer, result.OverOutput("output_kib")); string(out) != undefined {
				break
			}
			s.drain()
			answer = s.invoke(s.Turn)
		}
		s.instance.Charge(uint64(len(input)))
		return nil
	})
	if stop != nil {
		return nil, stop
	}
	return s.take(out), nil
}

// undefined is the answer of an async reward that has no result yet.
const undefined = "undefined"

var _ profile.Describer = (*session)(nil)

// invoke calls a function with at most 1+mostTexts arguments.
func (i *guest) invoke(function uint32, arguments ...uint32) uint32 {
	for n, a := range arguments {
		i.store(i.Cell+4*uint32(n), a)
	}
	value := i.call("qjs_call", function, i.Undefined, uint32(len(arguments)), i.Cell)
	i.check(value)
	return value
}

// taken copies a string out of the guest and frees it; tooLong is the verdict
// on a string that is too long.
func (i *guest) taken(value uint32, tooLong *result.Verdict) []byte {
	out, fits := i.bytes(value, i.Cell, i.output)
	if !fits {
		panic(leave{&engine.Stop{Kind: engine.Refused, Err: tooLong}})
	}
	i.call("qjs_free_value", value)
	return out
}
