package javascript

import (
	"bytes"

	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/limits"
	"github.com/merit-rl/merit/sandbox/internal/profile"
	"github.com/merit-rl/merit/sandbox/internal/result"
	sdk "github.com/merit-rl/merit/sdk/js"
)

// programs is how programs in JavaScript are spoken to: the module
// merit/program answers requests, which are strings.
type programs struct{}

// Open implements profile.Nested.
func (programs) Open(i *engine.Instance, _ *result.Collector, l limits.Limits) profile.Exchange {
	return &program{newGuest(i, l.OutputKiB<<10)}
}

type program struct{ guest }

// Start implements profile.Guest.
func (p *program) Start() *engine.Stop {
	return p.guard(func() error {
		if err := p.init(); err != nil {
			return err
		}
		p.eval(moduleProgram, sdk.Program, evalModule|evalCompileOnly)
		p.run(programCode)
		return nil
	})
}

// Answer implements profile.Exchange.
func (p *program) Answer(request []byte) (answer []byte, stop *engine.Stop) {
	answer, stop = p.exchange(request, result.Violation("the program answers with more than sandbox.output_kib allows"))
	return bytes.ToValidUTF8(answer, []byte("\uFFFD")), stop
}
