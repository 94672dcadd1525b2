package python

import (
	"bytes"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/limits"
	"github.com/merit-rl/merit/sandbox/internal/marshal"
	"github.com/merit-rl/merit/sandbox/internal/profile"
	"github.com/merit-rl/merit/sandbox/internal/result"
	"github.com/merit-rl/merit/sandbox/internal/text"
)

// programs is the calling convention of programs in Python:
// merit_reward._program answers requests, which are strings.
type programs struct{}

// Open implements profile.Nested.
func (programs) Open(i *engine.Instance, c *result.Collector, l limits.Limits) profile.Exchange {
	return &program{guest: guest{instance: i, streams: c}, collector: c, output: l.OutputKiB << 10}
}

type program struct {
	guest
	collector *result.Collector
	output    int // bytes
	encoder   marshal.Encoder
}

// Answer implements profile.Exchange. The answer is a byte for its kind and a
// text.
func (p *program) Answer(request []byte) (answer []byte, stop *engine.Stop) {
	p.collector.Start(nil, false)
	p.collector.Mute()
	p.instance.Charge(uint64(len(request)))
	p.encoder.Reset()
	p.encoder.Text(string(request))
	p.put(p.encoder.Bytes())
	v, stop := p.serve(p.hello.read, "program")
	if stop == nil && v == nil {
		answer, v = p.take()
	}
	if v != nil {
		stop = &engine.Stop{Kind: engine.Refused, Err: v}
	}
	return answer, stop
}

func (p *program) take() ([]byte, *result.Verdict) {
	data, ok := p.guest.answer()
	switch {
	case !ok || len(data) == 0:
		return nil, result.Violation(unreadable)
	case len(data)-1 > p.output:
		return nil, result.Violation("the program answers with more than sandbox.output_kib allows")
	}
	p.instance.Charge(uint64(len(data)))
	kind, said := data[0], bytes.ToValidUTF8(data[1:], []byte("\uFFFD"))
	switch {
	case kind == kindResults:
		return bytes.Clone(said), nil
	case kind == kindNoMemory && p.instance.MemoryDenied():
		return nil, result.NoMemory(text.Escape(string(said)))
	case kind > kindNoMemory:
		return nil, result.Violation(unreadable)
	}
	return nil, &result.Verdict{Outcome: reward.GuestError, Reason: text.Escape(string(said))}
}
