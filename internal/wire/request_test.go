package wire_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/wire"
	pb "github.com/merit-rl/merit/internal/wire/proto"
)

var asks = wire.PolicyConfiguration{
	Options: json.RawMessage(`{"rate":1}`), Seed: 1<<64 - 1, Actions: []string{"left", "right"}, FeatureShape: []int{2, 2},
	Tools: json.RawMessage(`[{"type":"function"}]`), Learn: true, Updates: 40,
}

func sampleRequest() policy.Observation {
	return policy.Observation{
		Messages: []rl.Message{{Role: "system", Content: rl.Text("<a> & ✓")}, {Role: "assistant", ToolCalls: calls}, {Role: "tool", Content: rl.Text("1"), ToolCallID: "call_1"}},
		Text:     "1", Features: []float32{0, 1, -0.5, 2}, Mask: []byte{1, 0}, Actions: asks.Actions, Tools: asks.Tools,
		Seed: 1<<64 - 2, Greedy: true, Tokens: []int32{5, 0, 7}, Covered: 2,
	}
}

func answered() policy.Observation {
	o := sampleRequest()
	o.Messages, o.Answered = o.Messages[:2], true
	return o
}

// Promise: a request comes out as it went in, whatever parts it has.
func TestRequestRoundTrip(t *testing.T) {
	testneeds.NotShort(t)
	for _, want := range []policy.Observation{sampleRequest(), answered(), {Actions: asks.Actions, Tools: asks.Tools}} {
		m, err := wire.EncodeRequest(&want, 1500*time.Microsecond)
		require.NoError(t, err)
		raw, err := proto.Marshal(m)
		require.NoError(t, err)
		var in pb.ActRequest
		require.NoError(t, proto.Unmarshal(raw, &in))
		require.Equal(t, uint32(2), in.Timeout, "rounded up: the host is the first to give up")
		got, err := wire.DecodeRequest(&in, asks)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	m, err := wire.EncodeRequest(&policy.Observation{Text: "\xff", Messages: []rl.Message{{Content: rl.Text("\xff")}}}, 0)
	require.NoError(t, err)
	require.Equal(t, "\uFFFD", m.Text)
	require.Zero(t, m.Timeout)
	_, err = wire.DecodeRequest(m, asks)
	require.NoError(t, err)
	_, err = wire.EncodeRequest(&policy.Observation{Text: strings.Repeat("x", wire.MaxMessage)}, 0)
	require.ErrorIs(t, err, fault.Of(fault.Plugin, fault.Exhausted))
}

// Promise: a request that does not fit the configuration is refused.
func TestRequestRefused(t *testing.T) {
	for says, spoil := range map[string]func(*pb.ActRequest){
		"messages: are not UTF-8":                                 func(m *pb.ActRequest) { m.Messages = []byte("[\"\xff\"]") },
		"messages: are not a list of messages":                    func(m *pb.ActRequest) { m.Messages = []byte("{}") },
		"covered: is 4, but there are only 3 messages":            func(m *pb.ActRequest) { m.Covered = 4 },
		"features: the column has 8 bytes, not 4 rows of 4 bytes": func(m *pb.ActRequest) { m.Features = make([]byte, 8) },
		"features: value 0 is NaN":                                func(m *pb.ActRequest) { copy(m.Features, "\x00\x00\xc0\x7f") },
		"mask: the column has 3 bytes, not 2 rows of 1 bytes":     func(m *pb.ActRequest) { m.Mask = make([]byte, 3) },
		"tokens: the column has 13 bytes":                         func(m *pb.ActRequest) { m.Tokens = append(m.Tokens, 0) },
	} {
		o := sampleRequest()
		m, err := wire.EncodeRequest(&o, 0)
		require.NoError(t, err)
		spoil(m)
		_, err = wire.DecodeRequest(m, asks)
		requireProtocol(t, err, says)
	}
}

// Promise: no bytes make the decoder panic, and what it lets through fits.
func FuzzDecodeRequest(f *testing.F) {
	o := sampleRequest()
	m, _ := wire.EncodeRequest(&o, time.Second)
	raw, _ := proto.Marshal(m)
	f.Add(raw)
	f.Fuzz(func(t *testing.T, raw []byte) {
		var m pb.ActRequest
		if proto.Unmarshal(raw, &m) != nil {
			return
		}
		o, err := wire.DecodeRequest(&m, asks)
		if err != nil {
			return
		}
		require.True(t, o.Features == nil || len(o.Features) == 4)
		require.True(t, o.Mask == nil || len(o.Mask) == 2)
		require.LessOrEqual(t, o.Covered, len(o.Messages))
		_, err = wire.EncodeRequest(&o, 0)
		require.NoError(t, err)
	})
}

// Promise: what a policy is built for, and what it then is, come out as they
// went in.
func TestPolicyConfiguration(t *testing.T) {
	for _, want := range []wire.PolicyConfiguration{asks, {}} {
		got, err := wire.DecodePolicyConfiguration(wire.EncodePolicyConfiguration(want))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	spec := policy.Spec{Learns: true, Model: "smollm2", Tokenizer: "sha256:1", Context: 2048, Imitates: true}
	got, err := wire.DecodePolicySpec(wire.EncodePolicySpec(spec, nil))
	require.NoError(t, err)
	require.Equal(t, spec, got)
	refused := &fault.Error{Boundary: fault.Config, Kind: fault.Missing, Where: "options.model", What: "is not there"}
	_, err = wire.DecodePolicySpec(wire.EncodePolicySpec(spec, refused))
	require.Equal(t, refused, err)
	_, err = wire.DecodePolicySpec(&pb.PolicyReply{})
	requireProtocol(t, err, "spec: is missing")
	_, err = wire.DecodePolicySpec(&pb.PolicyReply{Spec: &pb.PolicySpec{Context: 1 << 31}})
	requireProtocol(t, err, "spec.context: 2147483648 is too large")
	for says, m := range map[string]*pb.PolicyRequest{
		"configure.options: 1048577 bytes":          {Options: make([]byte, wire.MaxOptions+1)},
		"configure.actions: action 1, \"a\"":        {Actions: []string{"a", "a"}},
		"configure.tools: is not a JSON list":       {Tools: []byte("{}")},
		"configure.feature_shape: [0] has a dimens": {FeatureShape: []uint32{0}},
	} {
		_, err := wire.DecodePolicyConfiguration(m)
		requireProtocol(t, err, says)
	}
}
