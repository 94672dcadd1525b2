package python

import (
	"bytes"
	"encoding/binary"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/limits"
	"github.com/merit-rl/merit/sandbox/internal/marshal"
	"github.com/merit-rl/merit/sandbox/internal/profile"
	"github.com/merit-rl/merit/sandbox/internal/result"
)

// python is the profile of rewards in Python.
type python struct {
	taken   map[string]bool
	loading []byte // the request that loads the reward
}

func (python) Name() string { return "python" }
func (python) Group() bool  { return false } // until the reward has described itself

func (p python) Open(i *engine.Instance, c *result.Collector, l limits.Limits) profile.Session {
	return &session{
		guest: guest{instance: i, streams: c, taken: p.taken}, collector: c, loading: p.loading, input: l.InputMiB << 20, output: l.OutputKiB << 10,
	}
}

type session struct {
	guest
	collector *result.Collector
	loading   []byte
	input     int // bytes
	output    int // bytes
	encoder   marshal.Encoder
	layer     *layer // nil if requests must be read
}

// Boot implements profile.Booter: it readies the interpreter for any reward.
func (s *session) Boot() *engine.Stop { return s.guest.Start() }

// Start implements profile.Guest: it loads the reward.
func (s *session) Start() *engine.Stop {
	s.instance.Charge(uint64(len(s.loading)))
	s.put(s.loading)
	v, stop := s.serve(s.hello.read, "reward")
	switch {
	case stop != nil && stop.Kind == engine.Exited && stop.Code == 0:
		return refused(errHello)
	case stop != nil:
		return stop
	case v != nil:
		return refused(v)
	}
	said, _ := s.answer()
	if err := s.Resume(bytes.Clone(said)); err != nil {
		return refused(err)
	}
	return nil
}

// Describe implements profile.Describer.
func (s *session) Describe() profile.Description {
	return profile.Description{
		About: s.hello.about, Group: s.hello.group, GroundTruth: s.hello.truth, Entry: profile.Believed(&s.hello.entry), Refused: s.hello.refused,
	}
}

func (s *session) Lasting() bool { return true }

// Restored implements profile.Restored: only then may objects of the guest be
// overwritten.
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

// encode lays the request if possible.
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
	v, stop := s.serve(s.send(input), "reward")
	if stop == nil && v == nil && s.word(s.hello.pending+dictUsed) != 0 {
		v, stop = s.serve(s.hello.settle, "reward")
	}
	if stop != nil || v != nil {
		return v, stop
	}
	return s.take(), nil
}

// send passes a request to the guest and returns the function that takes it.
func (s *session) send(input []byte) uint32 {
	s.instance.Charge(uint64(len(input)))
	to := s.hello.read
	switch input[0] {
	case laidReady:
		to, input = s.hello.ready, s.patch(input)
	case laidCompleted:
		to, input = s.hello.completed, s.patch(input)
	}
	s.put(input)
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
