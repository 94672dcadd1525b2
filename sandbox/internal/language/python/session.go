package python

import (
	"bytes"
	"encoding/binary"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/limits"
	"github.com/merit-rl/merit/sandbox/internal/marshal"
	"github.com/merit-rl/merit/sandbox/internal/profile"
	"github.com/merit-rl/merit/sandbox/internal/result"
	"github.com/merit-rl/merit/sandbox/internal/text"
)

// python is the profile of rewards in Python. CPython is a WASI command, and a
// command that waits for input cannot be restored: its stack is live. So the
// program never waits: it loads the reward, says where its function serve lies
// in memory and calls _exit, which ends the host's call but not the
// interpreter, whose memory is as if _exit were still running. From there serve
// is called through CPython's own type slot, as a C function would call it, and
// the state between calls can be snapshotted like that of any reactor.
type python struct{ taken map[string]bool }

func (python) Name() string { return "python" }
func (python) Group() bool  { return false } // until the reward has said so

func (p python) Open(i *engine.Instance, c *result.Collector, l limits.Limits) profile.Session {
	return &session{taken: p.taken, instance: i, collector: c, input: l.InputMiB << 20, output: l.OutputKiB << 10}
}

type session struct {
	taken     map[string]bool // names of parameters
	instance  *engine.Instance
	collector *result.Collector
	input     int // bytes
	output    int // bytes
	encoder   marshal.Encoder
	said      []byte // hello as it came
	hello     hello
	call      *engine.Func
	layer     *layer // nil if requests must be read
}

// Offsets in the objects of CPython 3.12 on a 32-bit machine.
const (
	objectType  = 4
	objectSize  = 8
	bytesData   = 16
	arrayData   = 20
	listItems   = 12
	typeCall    = 64
	callParams  = "iii"
	callResults = "i"
)

func (s *session) Start() *engine.Stop {
	s.collector.Capture()
	_, stop := s.instance.Call(s.instance.Func("_start"))
	switch {
	case stop == nil:
		return &engine.Stop{Kind: engine.Refused, Err: errHello}
	case stop.Kind != engine.Exited || stop.Code != 0:
		return stop
	}
	if err := s.Resume(bytes.Clone(s.collector.Captured())); err != nil {
		return &engine.Stop{Kind: engine.Refused, Err: err}
	}
	return nil
}

func (s *session) Memo() []byte { return s.said }

func (s *session) Resume(said []byte) error {
	hello, ok := readHello(said)
	switch {
	case !ok:
		return errHello
	case hello.failed != "":
		return &result.Verdict{Outcome: reward.GuestError, Reason: text.Escape(hello.failed)}
	}
	hello.taken = s.taken
	s.said, s.hello = said, hello
	if s.call = s.instance.TableFunc(s.word(s.word(hello.read+objectType)+typeCall), callParams, callResults); s.call == nil {
		return errHello
	}
	return nil
}

// word reads a number from memory; 0, which no object has for an address, if
// there is none.
func (s *session) word(at uint32) uint32 {
	b, ok := s.instance.Bytes(at, 4)
	if !ok {
		return 0
	}
	return binary.LittleEndian.Uint32(b)
}

// Describe implements profile.Describer.
func (s *session) Describe() profile.Description {
	return profile.Description{About: s.hello.about, Group: s.hello.group, GroundTruth: s.hello.groundTruth()}
}

func (s *session) Lasting() bool { return true }

// Restored implements profile.Restored: only then may objects of the guest be
// written over.
func (s *session) Restored() {
	if shelf := openShelf(&s.hello.shelf, s.hello.buffer, s.word); shelf != nil && s.hello.ready != 0 {
		s.layer = &layer{shelf: shelf}
	}
}

func (s *session) Input(members []*rl.Trajectory) ([]byte, error) {
	input, err := s.encode(members)
	if err != nil {
		return nil, result.Infrastructure(err)
	}
	if len(input) > s.input {
		return nil, result.OverInput()
	}
	return input, nil
}

// encode lays the request down if it can.
func (s *session) encode(members []*rl.Trajectory) ([]byte, error) {
	if s.layer != nil {
		if input, err := s.layer.lay(&s.hello, &s.encoder, members[0]); input != nil || err != nil {
			return input, err
		}
	}
	s.encoder.Reset()
	err := s.hello.encode(&s.encoder, members)
	return s.encoder.Bytes(), err
}

func (s *session) Evaluate(input []byte) (*result.Verdict, *engine.Stop) {
	answer, stop := s.instance.Call(s.call, uint64(s.send(input)), uint64(s.hello.empty), 0)
	switch {
	case stop != nil:
		return nil, stop
	case uint32(answer) == 0 && s.instance.MemoryDenied():
		return result.NoMemory("the interpreter had no room for the answer"), nil
	case uint32(answer) == 0:
		return &result.Verdict{Outcome: reward.GuestError, Reason: "the reward broke the interpreter"}, nil
	}
	return s.take(), nil
}

// send hands a request over and returns the function that takes it. One that
// is too large for the buffer is read from standard input, and the buffer holds
// its size.
func (s *session) send(input []byte) uint32 {
	s.instance.Charge(uint64(len(input)))
	to := s.hello.read
	switch input[0] {
	case laidReady:
		to, input = s.hello.ready, s.patch(input)
	case laidCompleted:
		to, input = s.hello.completed, s.patch(input)
	}
	room, _ := s.instance.Bytes(s.word(s.hello.buffer+arrayData), s.word(s.hello.buffer+objectSize))
	if len(input) > len(room) {
		s.collector.Feed(input)
		size := marshal.Encoder{}
		size.Reset()
		size.Int(int64(len(input)))
		input = size.Bytes()
	}
	copy(room, input)
	return to
}

// patch writes the patches of a laid request and returns what follows them.
func (s *session) patch(input []byte) []byte {
	memory, _ := s.instance.Bytes(0, s.instance.Size())
	patches := binary.LittleEndian.Uint32(input[laidHead-4:])
	for input = input[laidHead:]; patches > 0; patches-- {
		at, value := binary.LittleEndian.Uint32(input), binary.LittleEndian.Uint32(input[4:])
		if input = input[patchBytes:]; uint64(at)+4 <= uint64(len(memory)) {
			binary.LittleEndian.PutUint32(memory[at:], value)
		}
	}
	return input
}
