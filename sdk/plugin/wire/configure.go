package wire

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/env"
	pb "github.com/merit-rl/merit/sdk/plugin/proto"
)

// Configuration is what a host asks of an environment.
type Configuration struct {
	Slots   int
	Split   string
	Options json.RawMessage // JSON object; empty = all defaults
}

// EncodeConfiguration gives c to Configure.
func EncodeConfiguration(c Configuration) *pb.ConfigureRequest {
	return &pb.ConfigureRequest{Slots: uint32(c.Slots), Split: c.Split, Options: c.Options}
}

// DecodeConfiguration is the plug-in's side. The options themselves are for
// the plug-in to judge.
func DecodeConfiguration(m *pb.ConfigureRequest) (Configuration, error) {
	if m.Slots < 1 || m.Slots > MaxSlots {
		return Configuration{}, broken("configure.slots", "%d is not between 1 and %d", m.Slots, MaxSlots)
	}
	if len(m.Options) > MaxOptions {
		return Configuration{}, broken("configure.options", "%d bytes, more than %d", len(m.Options), MaxOptions)
	}
	return Configuration{Slots: int(m.Slots), Split: Clean(m.Split, MaxName), Options: m.Options}, nil
}

// EncodeSpec answers Configure: with err if it is not nil, else with spec.
func EncodeSpec(spec env.Spec, err error) *pb.ConfigureReply {
	if err != nil {
		return &pb.ConfigureReply{Fault: EncodeFault(err)}
	}
	m := &pb.Spec{
		Name: spec.Name, Version: spec.Version, Slots: uint32(spec.Slots), Actions: spec.Actions,
		MaxSteps: uint32(spec.MaxSteps), System: spec.System,
	}
	for _, d := range spec.FeatureShape {
		m.FeatureShape = append(m.FeatureShape, uint32(d))
	}
	return &pb.ConfigureReply{Spec: m}
}

// DecodeSpec returns the spec that answers a request for slots, or the error
// that the plug-in has instead.
func DecodeSpec(m *pb.ConfigureReply, slots int) (env.Spec, error) {
	if m.Fault != nil {
		return env.Spec{}, DecodeFault(m.Fault)
	}
	s := m.Spec
	switch {
	case s == nil:
		return env.Spec{}, broken("spec", "is missing")
	case int64(s.Slots) != int64(slots):
		return env.Spec{}, broken("spec.slots", "is %d, asked for %d", s.Slots, slots)
	case len(s.Actions) > MaxActions:
		return env.Spec{}, broken("spec.actions", "%d actions, more than %d", len(s.Actions), MaxActions)
	case len(s.System) > MaxSystem || !utf8.ValidString(s.System):
		return env.Spec{}, broken("spec.system", "is not UTF-8 of at most %d bytes", MaxSystem)
	case s.MaxSteps > 1<<30:
		return env.Spec{}, broken("spec.max_steps", "%d is too large", s.MaxSteps)
	}
	seen := make(map[string]bool, len(s.Actions))
	for i, a := range s.Actions {
		if a == "" || a != Clean(a, MaxName) || seen[a] {
			return env.Spec{}, broken("spec.actions", "action %d, %q, is empty, a repetition or not printable", i, Cut(a, MaxName))
		}
		seen[a] = true
	}
	spec := env.Spec{
		Name: Clean(s.Name, MaxName), Version: Clean(s.Version, MaxName), Slots: slots,
		Actions: s.Actions, MaxSteps: int(s.MaxSteps), System: s.System,
	}
	return spec, decodeShape(s.FeatureShape, &spec)
}

func decodeShape(shape []uint32, spec *env.Spec) error {
	if len(shape) > maxRank {
		return broken("spec.feature_shape", "%d dimensions, more than %d", len(shape), maxRank)
	}
	values := 1
	for _, d := range shape {
		if d == 0 || d > MaxFeatures || values*int(d) > MaxFeatures {
			return broken("spec.feature_shape", "%v has a dimension of 0 or more than %d values", shape, MaxFeatures)
		}
		values *= int(d)
		spec.FeatureShape = append(spec.FeatureShape, int(d))
	}
	if spec.Features()*spec.Slots*4 > MaxMessage {
		return broken("spec.feature_shape", "%d slots of %v do not fit a message of %d bytes; use fewer slots", spec.Slots, shape, MaxMessage)
	}
	return nil
}
