package wire

import (
	"encoding/json"
	"errors"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/env"
	pb "github.com/merit-rl/merit/internal/wire/proto"
)

// Configuration is the configuration that a host sends to an environment.
type Configuration struct {
	Slots   int
	Split   string
	Options json.RawMessage // JSON object; empty = all defaults
}

// EncodeConfiguration encodes the request of Configure.
func EncodeConfiguration(c Configuration) *pb.ConfigureRequest {
	return &pb.ConfigureRequest{Slots: uint32(c.Slots), Split: c.Split, Options: c.Options}
}

// DecodeConfiguration decodes the request in the plug-in. The plug-in itself
// checks the options.
func DecodeConfiguration(m *pb.ConfigureRequest) (Configuration, error) {
	if m.Slots < 1 || m.Slots > MaxSlots {
		return Configuration{}, broken("configure.slots", "%d is not between 1 and %d", m.Slots, MaxSlots)
	}
	if len(m.Options) > MaxOptions {
		return Configuration{}, broken("configure.options", "%d bytes, more than %d", len(m.Options), MaxOptions)
	}
	return Configuration{Slots: int(m.Slots), Split: Clean(m.Split, MaxName), Options: m.Options}, nil
}

// EncodeSpec encodes the answer to Configure: err if it is not nil, else spec.
func EncodeSpec(spec env.Spec, err error) *pb.ConfigureReply {
	if err != nil {
		return &pb.ConfigureReply{Fault: EncodeFault(err)}
	}
	return &pb.ConfigureReply{Spec: &pb.Spec{
		Name: spec.Name, Version: spec.Version, Slots: uint32(spec.Slots), Actions: spec.Actions,
		FeatureShape: encodeShape(spec.FeatureShape), MaxSteps: uint32(spec.MaxSteps), System: spec.System, Tools: spec.Tools,
		Snapshots: spec.Snapshots, Tasks: uint32(spec.Tasks), Encodes: spec.Encodes,
	}}
}

// DecodeSpec returns the spec that answers a request for slots, or the error of
// the plug-in.
func DecodeSpec(m *pb.ConfigureReply, slots int) (env.Spec, error) {
	if m.Fault != nil {
		return env.Spec{}, DecodeFault(m.Fault)
	}
	s := m.Spec
	switch {
	case s == nil:
		return env.Spec{}, broken("spec", "is missing")
	case int64(s.Slots) != int64(slots):
		return env.Spec{}, broken("spec.slots", "is %d, not the requested %d", s.Slots, slots)
	case len(s.System) > MaxSystem || !utf8.ValidString(s.System):
		return env.Spec{}, broken("spec.system", "is not UTF-8 of at most %d bytes", MaxSystem)
	case s.MaxSteps > 1<<30:
		return env.Spec{}, broken("spec.max_steps", "%d is too large", s.MaxSteps)
	case s.Tasks > 1<<30:
		return env.Spec{}, broken("spec.tasks", "%d is too large", s.Tasks)
	}
	if err := errors.Join(checkActions("spec.actions", s.Actions), checkTools("spec.tools", s.Tools)); err != nil {
		return env.Spec{}, err
	}
	shape, err := decodeShape("spec.feature_shape", s.FeatureShape)
	if err != nil {
		return env.Spec{}, err
	}
	spec := env.Spec{
		Name: Clean(s.Name, MaxName), Version: Clean(s.Version, MaxName), Slots: slots,
		Actions: s.Actions, FeatureShape: shape, MaxSteps: int(s.MaxSteps), System: s.System, Tools: s.Tools,
		Snapshots: s.Snapshots, Tasks: int(s.Tasks), Encodes: s.Encodes,
	}
	if spec.Features()*spec.Slots*4 > MaxMessage {
		return env.Spec{}, broken("spec.feature_shape", "%d slots of %v do not fit a message of %d bytes; use fewer slots", spec.Slots, shape, MaxMessage)
	}
	return spec, nil
}

func encodeShape(shape []int) []uint32 {
	var m []uint32
	for _, d := range shape {
		m = append(m, uint32(d))
	}
	return m
}

func decodeShape(where string, m []uint32) ([]int, error) {
	if len(m) > maxRank {
		return nil, broken(where, "%d dimensions, more than %d", len(m), maxRank)
	}
	var shape []int
	values := 1
	for _, d := range m {
		if d == 0 || d > MaxFeatures || values*int(d) > MaxFeatures {
			return nil, broken(where, "%v has a dimension of 0 or more than %d values", m, MaxFeatures)
		}
		values *= int(d)
		shape = append(shape, int(d))
	}
	return shape, nil
}
