package javascript

import (
	"bytes"

	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/limits"
	"github.com/merit-rl/merit/sandbox/internal/profile"
	"github.com/merit-rl/merit/sandbox/internal/result"
)

// programs is the calling convention of programs in JavaScript: program.js
// answers requests, which are strings, at once or when there is nothing left to
// wait for.
type programs struct{ stack uint32 }

// Open implements profile.Nested.
func (p programs) Open(i *engine.Instance, _ *result.Collector, l limits.Limits) profile.Exchange {
	program := &program{newGuest(i, p.stack, l.OutputKiB<<10)}
	i.Host = &program.host
	return program
}

type program struct{ guest }

// Start implements profile.Guest.
func (p *program) Start() *engine.Stop {
	return p.guard(func() error {
		if err := p.init(); err != nil {
			return err
		}
		p.install(hostCompile)
		p.library(programModules)
		p.Turn = p.property(p.run(programCode), "turn")
		return nil
	})
}

// Answer implements profile.Exchange. While the program has no answer, its jobs
// run, and then its timers, one at a time.
func (p *program) Answer(request []byte) (answer []byte, stop *engine.Stop) {
	stop = p.guard(func() error {
		argument := p.string(string(request))
		p.instance.Charge(uint64(len(request)))
		value := p.invoke(p.Serve, argument)
		p.drain()
		for p.call("qjs_is_undefined", value) != 0 {
			value = p.invoke(p.Turn)
			p.drain()
		}
		answer = p.taken(value, result.Violation("the program answers with more than sandbox.output_kib allows"))
		p.call("qjs_free_value", argument)
		return nil
	})
	return bytes.ToValidUTF8(answer, []byte("\uFFFD")), stop
}

// drain runs the jobs of promises. Nothing catches what a job throws.
func (i *guest) drain() {
	for i.call("qjs_is_job_pending") != 0 {
		if int32(i.call("qjs_execute_pending_job")) < 0 {
			i.call("qjs_free_value", i.call("qjs_get_exception"))
		}
	}
}
