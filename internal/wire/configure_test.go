package wire_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/wire"
	pb "github.com/merit-rl/merit/internal/wire/proto"
)

// Promise: a configuration comes out as it went in, within its caps.
func TestConfiguration(t *testing.T) {
	want := wire.Configuration{Slots: 64, Split: "train", Options: json.RawMessage(`{"size":6}`)}
	got, err := wire.DecodeConfiguration(wire.EncodeConfiguration(want))
	require.NoError(t, err)
	require.Equal(t, want, got)
	_, err = wire.DecodeConfiguration(&pb.ConfigureRequest{})
	requireProtocol(t, err, "configure.slots: 0 is not between 1 and 65536")
	_, err = wire.DecodeConfiguration(&pb.ConfigureRequest{Slots: 1, Options: make([]byte, wire.MaxOptions+1)})
	requireProtocol(t, err, "configure.options: 1048577 bytes")
}

var full = env.Spec{
	Name: "maze", Version: "1.2", Slots: 4, Actions: []string{"left", "right"}, FeatureShape: []int{3, 7, 7},
	MaxSteps: 25, System: "Find the way.\nAnswer left or right.", Tasks: 40,
}

// Promise: a spec comes out as it went in; an error in its place too.
func TestSpec(t *testing.T) {
	for _, want := range []env.Spec{full, {Name: "text", Version: "0", Slots: 4}} {
		got, err := wire.DecodeSpec(wire.EncodeSpec(want, nil), 4)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := wire.DecodeSpec(wire.EncodeSpec(full, errors.New("no")), 4)
	require.EqualError(t, err, "no")
}

// Promise: an unusable spec is rejected.
func TestSpecRefused(t *testing.T) {
	for says, spoil := range map[string]func(*pb.Spec){
		"spec.slots: is 3, not the requested 4":  func(s *pb.Spec) { s.Slots = 3 },
		`action 1, "left", is empty, repeated`:   func(s *pb.Spec) { s.Actions[1] = "left" },
		`action 0, "", is empty`:                 func(s *pb.Spec) { s.Actions[0] = "" },
		`action 0, "a\tb", is empty, repeated`:   func(s *pb.Spec) { s.Actions[0] = "a\tb" },
		"spec.actions: 4097 actions":             func(s *pb.Spec) { s.Actions = make([]string, 4097) },
		"spec.feature_shape: [0]":                func(s *pb.Spec) { s.FeatureShape = []uint32{0} },
		"spec.feature_shape: [65536 65536]":      func(s *pb.Spec) { s.FeatureShape = []uint32{65536, 65536} },
		"spec.feature_shape: 9 dimensions":       func(s *pb.Spec) { s.FeatureShape = make([]uint32, 9) },
		"spec.max_steps: 4294967295 is too":      func(s *pb.Spec) { s.MaxSteps = 1<<32 - 1 },
		"spec.tasks: 4294967295 is too":          func(s *pb.Spec) { s.Tasks = 1<<32 - 1 },
		"spec.system: is not UTF-8 of at most 6": func(s *pb.Spec) { s.System = string(make([]byte, wire.MaxSystem+1)) },
	} {
		m := wire.EncodeSpec(full, nil)
		m.Spec = proto.CloneOf(m.Spec)
		spoil(m.Spec)
		_, err := wire.DecodeSpec(m, 4)
		requireProtocol(t, err, says)
	}
	_, err := wire.DecodeSpec(&pb.ConfigureReply{}, 4)
	requireProtocol(t, err, "spec: is missing")
	large := full
	large.Slots, large.FeatureShape = 5, []int{2048, 2048}
	_, err = wire.DecodeSpec(wire.EncodeSpec(large, nil), 5)
	requireProtocol(t, err, "5 slots of [2048 2048] do not fit a message of 67108864 bytes; use fewer slots")
}

// Promise: no bytes make the decoder panic.
func FuzzDecodeSpec(f *testing.F) {
	raw, _ := proto.Marshal(wire.EncodeSpec(full, nil))
	f.Add(raw)
	wrong, _ := proto.Marshal(wire.EncodeSpec(full, errors.Join(errors.New("a"), fault.Of(fault.Config, fault.Invalid))))
	f.Add(wrong)
	f.Fuzz(func(t *testing.T, raw []byte) {
		var m pb.ConfigureReply
		if proto.Unmarshal(raw, &m) != nil {
			return
		}
		spec, err := wire.DecodeSpec(&m, 4)
		if err == nil {
			require.LessOrEqual(t, spec.Features(), wire.MaxFeatures)
			return
		}
		_ = err.Error()
	})
}
