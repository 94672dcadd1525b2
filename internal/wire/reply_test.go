package wire_test

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/wire"
	pb "github.com/merit-rl/merit/internal/wire/proto"
)

const both = env.WantText | env.WantFeatures

// asked is the batch that the sample replies answer.
func asked(want env.Want) *env.Batch {
	return &env.Batch{Ops: []env.Op{env.Step, env.Step, env.Reset}, Want: want}
}

func sampleReply(features []float32) *env.Reply {
	return &env.Reply{
		Anchor: []string{"#@ #", "", "été"}, Text: []string{"You see #@ #", "", "été"}, Features: features,
		Mask: []byte{1, 0, 0, 0, 1, 1}, Reward: []float64{-math.Pi, 0, 0},
		Flags: []env.Flag{env.InvalidAction, env.Failed, 0},
		Events: []env.Event{
			{Slot: 0, Kind: env.EventToolResult, Name: "ls", Message: "a\nb"},
			{Slot: 1, Kind: env.EventError, Message: "broken"},
			{Slot: 2, Kind: env.EventInfo, Name: "depth", Message: "3"},
			{Slot: 2, Kind: env.EventTask, Message: `{"id":"a","ground_truth":4}`},
		},
	}
}

func planes() []float32 {
	f := make([]float32, 27)
	for i := range f {
		f[i] = float32(i * i % 3 & 1)
	}
	return f
}

func encode(t testing.TB, r *env.Reply, want env.Want) *pb.BatchReply {
	var m pb.BatchReply
	require.NoError(t, wire.EncodeReply(&m, 7, r, want, discrete))
	return &m
}

// Promise: a reply comes out as it went in, bit by bit, whichever way its
// features travel; memory that is used again carries nothing over.
func TestReplyRoundTrip(t *testing.T) {
	values := planes()
	values[3], values[26] = 0.25, float32(math.Copysign(0, -1))
	var out env.Reply
	for _, c := range []struct {
		features []float32
		encoding pb.FeatureEncoding
		size     int
	}{
		{planes(), pb.FeatureEncoding_FEATURES_BITS, 6},
		{values, pb.FeatureEncoding_FEATURES_F32, 108},
		{planes(), pb.FeatureEncoding_FEATURES_BITS, 6},
	} {
		want := sampleReply(c.features)
		m := encode(t, want, both)
		require.Equal(t, c.encoding, m.FeatureEncoding)
		require.Len(t, m.Features, c.size)
		raw, err := proto.Marshal(m)
		require.NoError(t, err)
		require.NoError(t, proto.Unmarshal(raw, m))
		require.NoError(t, wire.DecodeReply(m, 7, asked(both), &out, discrete))
		require.Equal(t, want, &out)
		require.Equal(t, math.Signbit(float64(want.Features[26])), math.Signbit(float64(out.Features[26])))
	}
	require.NoError(t, wire.DecodeReply(encode(t, sampleReply(nil), 0), 7, asked(0), &out, discrete))
	require.Empty(t, out.Text)
	require.Empty(t, out.Features)
}

// Promise: bits are for 0 and 1 alone; whatever else a value is, however like
// them, it arrives unchanged.
func TestFeatureBits(t *testing.T) {
	var out env.Reply
	for bit := range 32 {
		for _, u := range []uint32{1 << bit, 0x3f800000 ^ 1<<bit, 0x3f800000 >> (bit % 8), 0x3f800000 << (bit % 2)} {
			v := math.Float32frombits(u)
			if v != v || math.IsInf(float64(v), 0) {
				continue
			}
			for at := range 27 {
				features := planes()
				features[at] = v
				m := encode(t, sampleReply(features), both)
				require.Equal(t, u == 0 || u == 0x3f800000, m.FeatureEncoding == pb.FeatureEncoding_FEATURES_BITS, "%#x", u)
				require.NoError(t, wire.DecodeReply(m, 7, asked(both), &out, discrete))
				require.Equal(t, u, math.Float32bits(out.Features[at]))
			}
		}
	}
}

// Promise: whatever disagrees with the batch, the spec or arithmetic is refused.
func TestReplyRefused(t *testing.T) {
	for says, spoil := range map[string]func(*pb.BatchReply){
		"seq: is 8 in the reply to batch 7":                            func(m *pb.BatchReply) { m.Seq++ },
		"anchor_end: the column has 11 bytes, not 3 rows of 4 bytes":   func(m *pb.BatchReply) { m.AnchorEnd = m.AnchorEnd[1:] },
		"anchor: 1 bytes belong to no row":                             func(m *pb.BatchReply) { m.Anchor = append(m.Anchor, 'x') },
		"anchor: row 2 is not UTF-8":                                   func(m *pb.BatchReply) { m.Anchor[4] = 0xff },
		"text_end: the column has 0 bytes, not 3 rows of 4 bytes":      func(m *pb.BatchReply) { m.TextEnd = nil },
		"features: the column has 7 bytes, not 3 rows of 2 bytes":      func(m *pb.BatchReply) { m.Features = append(m.Features, 0) },
		"features: the column has 6 bytes, not 27 rows of 4 bytes":     func(m *pb.BatchReply) { m.FeatureEncoding = 0 },
		"feature_encoding: unknown encoding 2":                         func(m *pb.BatchReply) { m.FeatureEncoding = 2 },
		"features: value 0 is NaN":                                     nanFeatures,
		"mask: the column has 5 bytes, not 3 rows of 2 bytes":          func(m *pb.BatchReply) { m.Mask = m.Mask[1:] },
		"mask: slot 0, action 0 has 2, neither 0 nor 1":                func(m *pb.BatchReply) { m.Mask[0] = 2 },
		"mask: slot 2 continues but has no action available":           func(m *pb.BatchReply) { m.Mask[4], m.Mask[5] = 0, 0 },
		"reward: the column has 23 bytes, not 3 rows of 8 bytes":       func(m *pb.BatchReply) { m.Reward = m.Reward[1:] },
		"reward: slot 1 has the reward +Inf":                           func(m *pb.BatchReply) { copy(m.Reward[8:], "\x00\x00\x00\x00\x00\x00\xf0\x7f") },
		"reward: slot 2 has the reward 2 right after its reset":        func(m *pb.BatchReply) { m.Reward[23] = 0x40 },
		"flags: the column has 2 bytes, not 3 rows of 1 bytes":         func(m *pb.BatchReply) { m.Flags = m.Flags[1:] },
		"flags: slot 0 has unknown bits in 0x10":                       func(m *pb.BatchReply) { m.Flags[0] = 16 },
		"flags: slot 2 failed, but no event has its error":             func(m *pb.BatchReply) { m.Flags[2] = byte(env.Failed) },
		"events[1]: slot 3 is out of order or not below 3":             func(m *pb.BatchReply) { m.Events[1].Slot = 3 },
		"events[2]: slot 0 is out of order or not below 3":             func(m *pb.BatchReply) { m.Events[2].Slot = 0 },
		`events[0]: unknown kind "party\n"`:                            func(m *pb.BatchReply) { m.Events[0].Kind = "party\n" },
		`events[0]: slot 0: the metric name "a b" does not consist of`: func(m *pb.BatchReply) { m.Events[0].Kind, m.Events[0].Name = "metric", "a b" },
		"events[0]: slot 0: the metric m is NaN, not a finite number":  func(m *pb.BatchReply) { m.Events[0].Kind, m.Events[0].Name, m.Events[0].Message = "metric", "m", "NaN" },
		"events[0]: slot 0: the metric m is null, not a finite": func(m *pb.BatchReply) {
			m.Events[0].Kind, m.Events[0].Name, m.Events[0].Message = "metric", "m", "null"
		},
		`events[2]: info "depth" of slot 2 is not JSON`: func(m *pb.BatchReply) { m.Events[2].Message = "{" },
		"events[0]: the name has 257 bytes":             func(m *pb.BatchReply) { m.Events[0].Name = strings.Repeat("x", 257) },
		"events: 193 events for 3 slots":                func(m *pb.BatchReply) { m.Events = make([]*pb.Event, 193) },
	} {
		m := encode(t, sampleReply(planes()), both)
		spoil(m)
		requireProtocol(t, wire.DecodeReply(m, 7, asked(both), &env.Reply{}, discrete), says)
	}
	m := encode(t, sampleReply(planes()), both)
	requireProtocol(t, wire.DecodeReply(m, 7, asked(env.WantText), &env.Reply{}, discrete), "features: the column has 6 bytes, not 0 rows")
	requireProtocol(t, wire.DecodeReply(m, 7, asked(env.WantFeatures), &env.Reply{}, discrete), "text_end: the column has 12 bytes, not 0 rows")
}

func nanFeatures(m *pb.BatchReply) {
	m.FeatureEncoding = pb.FeatureEncoding_FEATURES_F32
	m.Features = make([]byte, 108)
	m.Features[2], m.Features[3] = 0xc0, 0x7f
}

// Promise: a whole batch that failed is the plug-in's own error.
func TestReplyFault(t *testing.T) {
	err := wire.DecodeReply(&pb.BatchReply{Fault: wire.EncodeFault(&fault.Error{Boundary: fault.Data, Kind: fault.Corrupt, What: "bad map"})},
		7, asked(0), &env.Reply{}, discrete)
	require.ErrorIs(t, err, fault.Of(fault.Data, fault.Corrupt))
}

// Promise: if an author's vector environment fills a column wrongly, the error
// names the column.
func TestReplyNotEncoded(t *testing.T) {
	r := sampleReply(planes())
	r.Mask = r.Mask[1:]
	requireProtocol(t, wire.EncodeReply(&pb.BatchReply{}, 1, r, both, discrete), "Reply.Mask: has 5 rows, not 6")
}

// Promise: no bytes make the decoder panic, and what it lets through is safe.
func FuzzDecodeReply(f *testing.F) {
	bits, _ := proto.Marshal(encode(f, sampleReply(planes()), both))
	floats := planes()
	floats[0] = 0.5
	float, _ := proto.Marshal(encode(f, sampleReply(floats), both))
	f.Add(bits)
	f.Add(float)
	f.Fuzz(func(t *testing.T, raw []byte) {
		var m pb.BatchReply
		var r env.Reply
		if proto.Unmarshal(raw, &m) != nil || wire.DecodeReply(&m, 7, asked(both), &r, discrete) != nil {
			return
		}
		require.Len(t, r.Features, 27)
		require.Len(t, r.Mask, 6)
		for _, v := range r.Features {
			require.False(t, math.IsNaN(float64(v)) || math.IsInf(float64(v), 0))
		}
		for _, v := range r.Reward {
			require.False(t, math.IsNaN(v) || math.IsInf(v, 0))
		}
		require.NoError(t, wire.EncodeReply(&pb.BatchReply{}, 7, &r, both, discrete))
	})
}

// Promise: an encoded call comes out as it went in, a refusal keeps its type, and a reply
// that does not describe one slot is an error of the plug-in.
func TestEncoding(t *testing.T) {
	reply := func() *env.Reply {
		return &env.Reply{Anchor: []string{"#@ #"}, Features: planes()[:9], Mask: []byte{1, 0}}
	}
	in, spec := reply(), discrete
	var out env.Reply
	action, err := wire.DecodeEncoding(wire.EncodeEncoding(in, -1, spec, nil), &out, spec)
	require.NoError(t, err)
	require.Equal(t, -1, action)
	require.Equal(t, reply(), &env.Reply{Anchor: out.Anchor, Features: out.Features, Mask: out.Mask})

	refused := &fault.Error{Boundary: fault.Data, Kind: fault.Refused, What: "no board"}
	_, err = wire.DecodeEncoding(wire.EncodeEncoding(in, 0, spec, refused), &out, spec)
	require.Equal(t, refused, err)

	for name, change := range map[string]func(m *pb.EncodeReply){
		"observation: is missing":                  func(m *pb.EncodeReply) { m.Observation = nil },
		"action: is 2, and the environment has 2":  func(m *pb.EncodeReply) { m.Action = 2 },
		"action: is -2, and the environment has 2": func(m *pb.EncodeReply) { m.Action = -2 },
		"observation: has no anchor":               func(m *pb.EncodeReply) { m.Observation.Anchor, m.Observation.AnchorEnd = nil, make([]byte, 4) },
		"features: ":                               func(m *pb.EncodeReply) { m.Observation.Features = m.Observation.Features[:1] },
		"mask: slot 0 continues but has no action": func(m *pb.EncodeReply) { m.Observation.Mask = []byte{0, 0} },
		"or is the end of an episode":              func(m *pb.EncodeReply) { m.Observation.Flags = []byte{1} },
		"reward: slot 0 has the reward 1 right aft": func(m *pb.EncodeReply) {
			m.Observation.Reward = binary.LittleEndian.AppendUint64(nil, math.Float64bits(1))
		},
	} {
		m := wire.EncodeEncoding(reply(), 1, spec, nil)
		change(m)
		_, err := wire.DecodeEncoding(m, &out, spec)
		require.ErrorIs(t, err, fault.Of(fault.Plugin, fault.Protocol), name)
		require.ErrorContains(t, err, name)
	}
	in.Features = in.Features[:3]
	_, err = wire.DecodeEncoding(wire.EncodeEncoding(in, 0, spec, nil), &out, spec)
	require.ErrorContains(t, err, "Reply.Features: has 3 rows, not 9")
}
