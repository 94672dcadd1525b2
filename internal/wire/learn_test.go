package wire_test

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/internal/wire"
	pb "github.com/merit-rl/merit/internal/wire/proto"
)

func sequence(n int) policy.Sequence {
	s := policy.Sequence{
		Tokens: make([]int32, n), Sampled: make([]byte, n),
		LogProb: make([]float32, n), Advantage: make([]float32, n), Weight: make([]float32, n),
	}
	for i := 1; i < n; i += 2 {
		s.Tokens[i], s.Sampled[i], s.LogProb[i], s.Advantage[i], s.Weight[i] = int32(i), 1, -0.5, float32(i)-3, 0.25
	}
	return s
}

// Promise: sequences come out as they went in, in parts of some MiB, and none
// is cut in two.
func TestLearnRoundTrip(t *testing.T) {
	for _, lengths := range [][]int{nil, {3}, {2, 200_000, 1, 300_000, 5}, {300_000}} {
		var want []policy.Sequence
		for _, n := range lengths {
			want = append(want, sequence(n))
		}
		parts, err := wire.EncodeLearn(want, 1<<64-1)
		require.NoError(t, err)
		var lesson wire.Lesson
		n := 0
		for part := range parts {
			require.LessOrEqual(t, proto.Size(part), 6<<20)
			require.NoError(t, lesson.Add(part))
			n++
		}
		require.NoError(t, lesson.End())
		require.Equal(t, want, lesson.Sequences)
		require.EqualValues(t, uint64(1<<64-1), lesson.Seed)
		require.LessOrEqual(t, n, 3)
		require.Positive(t, n, "nothing to learn is said, too")
	}
	_, err := wire.EncodeLearn([]policy.Sequence{{Trajectory: "x", Tokens: make([]int32, wire.MaxSequence+1)}}, 1)
	require.ErrorIs(t, err, fault.Of(fault.Learner, fault.Exhausted))
	require.ErrorContains(t, err, "trajectory x: ")
}

func part(t testing.TB, n int) *pb.LearnRequest {
	parts, err := wire.EncodeLearn([]policy.Sequence{sequence(n)}, 1)
	require.NoError(t, err)
	for p := range parts {
		return p
	}
	return nil
}

// Promise: in every part of an update that imitates, the sequences say so.
func TestImitation(t *testing.T) {
	want := []policy.Sequence{sequence(300_000), sequence(5)}
	for i := range want {
		want[i].Imitate = true
		clear(want[i].LogProb)
	}
	parts, err := wire.EncodeLearn(want, 1)
	require.NoError(t, err)
	var lesson wire.Lesson
	for part := range parts {
		require.NoError(t, lesson.Add(part))
	}
	require.Equal(t, want, lesson.Sequences)
}

// Promise: columns that do not fit, and parts that are missing, are refused.
func TestLearnRefused(t *testing.T) {
	for says, spoil := range map[string]func(*pb.LearnRequest){
		"learn.end: the column has 3 bytes":                           func(m *pb.LearnRequest) { m.End = m.End[1:] },
		"learn.end: 1 sequences, but 0 were announced":                func(m *pb.LearnRequest) { m.Sequences = 0 },
		"learn.end: sequence 0 ends at token 0, not between":          func(m *pb.LearnRequest) { m.End[0] = 0 },
		"learn.end: sequence 0 ends at token 9, not between":          func(m *pb.LearnRequest) { m.End[0] = 9 },
		"learn.end: 1 tokens belong to no sequence":                   func(m *pb.LearnRequest) { m.End[0] = 2 },
		"learn.tokens: the column has 8 bytes, not 3 rows of 4 bytes": func(m *pb.LearnRequest) { m.Tokens = m.Tokens[4:] },
		"learn.tokens: token 0 is -1":                                 func(m *pb.LearnRequest) { copy(m.Tokens, "\xff\xff\xff\xff") },
		"learn.sampled: row 1 is 2":                                   func(m *pb.LearnRequest) { m.Sampled[1] = 2 },
		"learn.sampled: the first token cannot be sampled":            func(m *pb.LearnRequest) { m.Sampled[0] = 1 },
		"learn.sampled: row 1 was not sampled but has":                func(m *pb.LearnRequest) { m.Sampled[1] = 0 },
		"learn.log_prob: value 0 is NaN":                              func(m *pb.LearnRequest) { copy(m.LogProb, "\x00\x00\xc0\x7f") },
		"learn.advantage: the column has 11 bytes, not 3 rows":        func(m *pb.LearnRequest) { m.Advantage = m.Advantage[1:] },
		"learn.log_prob: row 1 has log-probability -0.5, but the":     func(m *pb.LearnRequest) { m.Imitate = true },
		"learn.weight: row 1 has log-probability -0.5 and w":          func(m *pb.LearnRequest) { m.Weight[7] = 0xbf },
	} {
		m := part(t, 3)
		spoil(m)
		var lesson wire.Lesson
		requireProtocol(t, lesson.Add(m), says)
	}
	var lesson wire.Lesson
	requireProtocol(t, lesson.End(), "learn: only 0 of 0 sequences arrived")
	m := part(t, 3)
	m.Sequences = 2
	require.NoError(t, lesson.Add(m))
	requireProtocol(t, lesson.End(), "learn: only 1 of 2 sequences arrived")
}

// Promise: no bytes make the decoder panic, and what it lets through hangs
// together.
func FuzzLesson(f *testing.F) {
	raw, _ := proto.Marshal(part(f, 5))
	f.Add(raw)
	f.Fuzz(func(t *testing.T, raw []byte) {
		var m pb.LearnRequest
		var lesson wire.Lesson
		if proto.Unmarshal(raw, &m) != nil || lesson.Add(&m) != nil || lesson.End() != nil {
			return
		}
		for _, s := range lesson.Sequences {
			n := len(s.Tokens)
			require.Equal(t, []int{n, n, n, n}, []int{len(s.Sampled), len(s.LogProb), len(s.Advantage), len(s.Weight)})
		}
		_, err := wire.EncodeLearn(lesson.Sequences, lesson.Seed)
		require.NoError(t, err)
	})
}

// Promise: the answer to Learn is decoded as it was encoded, and a plug-in's
// error is distinguished from a message that breaks the contract.
func TestLearned(t *testing.T) {
	want := policy.Stats{
		Loss: 1, KL: 2, Entropy: 3, ClipFraction: 4, GradNorm: 5, LearningRate: 7, Minibatches: 8, Sequences: 9, Tokens: 10,
		Ratio: 11, Drift: 12, DriftMax: 13,
	}
	got, failed, err := wire.DecodeLearned(wire.EncodeLearned(want, 4, nil), 4)
	require.NoError(t, errors.Join(failed, err))
	require.Equal(t, want, got)
	lost := &fault.Error{Boundary: fault.Learner, Kind: fault.Crashed, What: "the engine died", Retry: true}
	_, failed, err = wire.DecodeLearned(wire.EncodeLearned(want, 4, lost), 4)
	require.NoError(t, err)
	require.Equal(t, lost, failed)
	_, _, err = wire.DecodeLearned(wire.EncodeLearned(want, 4, nil), 5)
	requireProtocol(t, err, "version: is 4, but must be 5 after this update")
	want.Drift = math.Inf(1)
	_, _, err = wire.DecodeLearned(wire.EncodeLearned(want, 4, nil), 4)
	requireProtocol(t, err, "stats: contain +Inf")
	_, _, err = wire.DecodeLearned(&pb.LearnReply{Version: 4}, 4)
	requireProtocol(t, err, "stats: are missing")
}

// Promise: publishing, saving and loading say what they did, or why not.
func TestStates(t *testing.T) {
	no := &fault.Error{Boundary: fault.Storage, Kind: fault.Exhausted, What: "full"}
	failed, err := wire.DecodePublished(wire.EncodePublished(3, nil), 3)
	require.NoError(t, errors.Join(failed, err))
	_, err = wire.DecodePublished(wire.EncodePublished(2, nil), 3)
	requireProtocol(t, err, "version: 2 was published, but the newest is 3")
	failed, _ = wire.DecodePublished(wire.EncodePublished(0, no), 3)
	require.Equal(t, no, failed)

	state, failed, err := wire.DecodeSaved(wire.EncodeSaved([]byte("s"), nil))
	require.NoError(t, errors.Join(failed, err))
	require.Equal(t, []byte("s"), state)
	_, failed, _ = wire.DecodeSaved(wire.EncodeSaved(nil, no))
	require.Equal(t, no, failed)
	for _, n := range []int{0, wire.MaxState + 1} {
		_, _, err = wire.DecodeSaved(wire.EncodeSaved(make([]byte, n), nil))
		requireProtocol(t, err, "state: has ")
	}

	version, failed, err := wire.DecodeLoaded(wire.EncodeLoaded(7, nil), false)
	require.NoError(t, errors.Join(failed, err))
	require.Equal(t, uint64(7), version)
	_, failed, _ = wire.DecodeLoaded(wire.EncodeLoaded(7, no), false)
	require.Equal(t, no, failed)
	_, _, err = wire.DecodeLoaded(wire.EncodeLoaded(7, nil), true)
	requireProtocol(t, err, "version: is 7, but must be 0 before the first update")

	require.NoError(t, wire.CheckStateName("iteration-12"))
	for _, name := range []string{"", "../up", "a b", "é"} {
		requireProtocol(t, wire.CheckStateName(name), "save.name: ")
	}
}
