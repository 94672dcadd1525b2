package wire_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/wire"
	pb "github.com/merit-rl/merit/internal/wire/proto"
)

var (
	named = []string{"left", "right"}
	calls = []rl.ToolCall{{ID: "call_1", Type: "function", Function: rl.FunctionCall{Name: "move", Arguments: `{"by": 1}`}}}
)

func sampleDecisions() []policy.Decision {
	return []policy.Decision{
		{Action: rl.Action{Kind: rl.ActionChoice, Choice: 1, Text: "right"}, LogProb: -0.25, Entropy: 0.5, Value: -2, HasValue: true, Lag: 3},
		{
			Raw: "<think>no ✓</think> right", Prompt: []int32{1, 2, 1<<31 - 1}, Tokens: []rl.Token{{ID: 7, LogProb: -0.125}, {ID: 0}}, LogProb: -0.125,
			Info: map[string]json.RawMessage{"finish": json.RawMessage(`"length"`), "n": json.RawMessage("3")},
		},
		{Action: rl.Action{Kind: rl.ActionText, Text: "go"}, Stop: rl.StopPolicyEnded},
		{Action: rl.Action{Kind: rl.ActionTool, ToolCalls: calls}},
		{Action: rl.Action{ToolCalls: calls}, Raw: "as it was", Stop: rl.StopContext},
	}
}

// Promise: a decision comes out as it went in, an error in its place too.
func TestDecisionRoundTrip(t *testing.T) {
	for _, want := range sampleDecisions() {
		raw, err := proto.Marshal(wire.EncodeDecision(9, &want, 5, nil))
		require.NoError(t, err)
		var m pb.ActReply
		require.NoError(t, proto.Unmarshal(raw, &m))
		require.Equal(t, uint64(9), m.Id)
		got, err := wire.DecodeDecision(&m, named, 5)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	busy := &fault.Error{Boundary: fault.Model, Kind: fault.Exhausted, What: "busy", Retry: true}
	for _, m := range []*pb.ActReply{wire.EncodeDecision(1, &policy.Decision{}, 0, busy), wire.EncodeDecision(1, &policy.Decision{Err: busy}, 0, nil)} {
		_, err := wire.DecodeDecision(m, named, 0)
		require.Equal(t, busy, err)
	}
}

// Promise: what an author hands over that no message can hold is its error, or
// is made fit: bytes of half a character are not.
func TestDecisionNotEncoded(t *testing.T) {
	_, err := wire.DecodeDecision(wire.EncodeDecision(1, &policy.Decision{Lag: 2}, 1, nil), nil, 1)
	require.EqualError(t, err, "the decision is 2 updates old, but there were only 1 updates")
	m := wire.EncodeDecision(1, &policy.Decision{Raw: "half \xe2\x9c"}, 0, nil)
	_, err = proto.Marshal(m)
	require.NoError(t, err)
	require.Equal(t, "half \uFFFD", m.Decision.Raw)
}

// Promise: what engines round above 0 is 0; more than that is not the logarithm of a
// probability.
func TestRoundedLogProb(t *testing.T) {
	d := policy.Decision{LogProb: 2e-7, Entropy: -1e-9, Tokens: []rl.Token{{ID: 1, LogProb: 9e-5}}}
	got, err := wire.DecodeDecision(wire.EncodeDecision(1, &d, 0, nil), nil, 0)
	require.NoError(t, err)
	require.Zero(t, got.LogProb)
	require.Zero(t, got.Entropy)
	require.Zero(t, got.Tokens[0].LogProb)
}

// Promise: every field of a decision has its range, every column its length.
func TestDecisionRefused(t *testing.T) {
	for says, spoil := range map[string]func(*pb.Decision){
		"decision.kind: \"dance\" is not":                     func(m *pb.Decision) { m.Kind = "dance" },
		"decision.choice: 2 is not one of 2 actions":          func(m *pb.Decision) { m.Kind, m.Choice = "choice", 2 },
		"decision.choice: 4294967295 is not one of 2":         func(m *pb.Decision) { m.Kind, m.Choice = "choice", math.MaxUint32 },
		"decision.text: 1048577 bytes":                        func(m *pb.Decision) { m.Kind, m.Text = "text", strings.Repeat("x", wire.MaxText+1) },
		"decision.raw: 1048577 bytes":                         func(m *pb.Decision) { m.Raw = strings.Repeat("x", wire.MaxText+1) },
		"decision.tool_calls: are missing":                    func(m *pb.Decision) { m.Kind = "tool" },
		"decision.tool_calls: are not a list of at most 64":   func(m *pb.Decision) { m.ToolCalls = []byte(`{"name": "f"}`) },
		"decision.tool_calls: are not a list of at most 6":    func(m *pb.Decision) { m.ToolCalls = []byte("[{}" + strings.Repeat(",{}", 64) + "]") },
		"decision.tool_calls: are not UTF-8":                  func(m *pb.Decision) { m.ToolCalls = []byte("[\"\xff\"]") },
		"decision.stop: \"error\" is neither":                 func(m *pb.Decision) { m.Stop = "error" },
		"decision.version: is 6, but the newest version is 5": func(m *pb.Decision) { m.Version = 6 },
		"decision.log_prob: 0.1 is not the logarithm":         func(m *pb.Decision) { m.LogProb = 0.1 },
		"decision.log_prob: -Inf is not the logarithm":        func(m *pb.Decision) { m.LogProb = math.Inf(-1) },
		"decision.entropy: is -1":                             func(m *pb.Decision) { m.Entropy = -1 },
		"decision.value: is NaN":                              func(m *pb.Decision) { m.Value = proto.Float64(math.NaN()) },
		"decision.prompt: the column has 5 bytes":             func(m *pb.Decision) { m.Prompt = make([]byte, 5) },
		"decision.prompt: token 0 is -1":                      func(m *pb.Decision) { m.Prompt = []byte("\xff\xff\xff\xff") },
		"decision.log_probs: the column has 8 bytes, not 0":   func(m *pb.Decision) { m.LogProbs = make([]byte, 8) },
		"decision.log_probs: the column has 0 bytes, not 1":   func(m *pb.Decision) { m.Tokens = make([]byte, 4) },
		"decision.log_probs[1]: NaN is not the logarithm": func(m *pb.Decision) {
			m.Tokens, m.LogProbs = make([]byte, 8), []byte("\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xf8\x7f")
		},
		"decision.info: is not a JSON object":          func(m *pb.Decision) { m.Info = []byte("[]") },
		"decision.info: the key \"a\\nb\" is too long": func(m *pb.Decision) { m.Info = []byte(`{"a\nb": 1}`) },
	} {
		m := wire.EncodeDecision(1, &policy.Decision{}, 5, nil)
		spoil(m.Decision)
		_, err := wire.DecodeDecision(m, named, 5)
		requireProtocol(t, err, says)
	}
	_, err := wire.DecodeDecision(&pb.ActReply{Id: 1}, named, 5)
	requireProtocol(t, err, "decision: is missing")
}

// Promise: no bytes make the decoder panic, and what it lets through can be
// used and sent on.
func FuzzDecodeDecision(f *testing.F) {
	for _, d := range sampleDecisions() {
		raw, _ := proto.Marshal(wire.EncodeDecision(1, &d, 5, nil))
		f.Add(raw)
	}
	raw, _ := proto.Marshal(wire.EncodeDecision(1, &policy.Decision{}, 5, errors.New("no")))
	f.Add(raw)
	f.Fuzz(func(t *testing.T, raw []byte) {
		var m pb.ActReply
		if proto.Unmarshal(raw, &m) != nil {
			return
		}
		d, err := wire.DecodeDecision(&m, named, 5)
		if err != nil {
			return
		}
		require.LessOrEqual(t, d.LogProb, 0.0)
		require.LessOrEqual(t, d.Lag, uint64(5))
		for _, token := range d.Tokens {
			require.True(t, token.LogProb <= 0 && token.ID >= 0)
		}
		again, err := wire.DecodeDecision(wire.EncodeDecision(1, &d, 5, nil), named, 5)
		require.NoError(t, err)
		require.Equal(t, d.Tokens, again.Tokens)
		require.Equal(t, d.Action, again.Action)
	})
}
