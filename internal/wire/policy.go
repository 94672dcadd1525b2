package wire

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
	pb "github.com/merit-rl/merit/internal/wire/proto"
)

// PolicyConfiguration is the configuration that a host sends to a policy.
type PolicyConfiguration struct {
	Options      json.RawMessage // JSON object; empty = all defaults
	Seed         rl.Seed         // the seed for the initial weights
	Actions      []string        // the actions of the environment; nil = free text
	FeatureShape []int           // the shape of its observation tensor; nil = none
	Tools        json.RawMessage // a JSON list of OpenAI tools; nil = none
	Learn        bool            // whether Learn will be called
	Updates      int             // how often Learn will be called, for schedules; 0 = unknown
}

// EncodePolicyConfiguration encodes the request of Configure.
func EncodePolicyConfiguration(c PolicyConfiguration) *pb.PolicyRequest {
	return &pb.PolicyRequest{
		Options: c.Options, Seed: uint64(c.Seed), Actions: c.Actions, FeatureShape: encodeShape(c.FeatureShape),
		Tools: c.Tools, Learn: c.Learn, Updates: uint32(c.Updates),
	}
}

// DecodePolicyConfiguration decodes the request in the plug-in. The plug-in
// itself checks the options.
func DecodePolicyConfiguration(m *pb.PolicyRequest) (PolicyConfiguration, error) {
	c := PolicyConfiguration{
		Options: m.Options, Seed: rl.Seed(m.Seed), Actions: m.Actions, Tools: m.Tools, Learn: m.Learn, Updates: int(m.Updates),
	}
	if len(m.Options) > MaxOptions {
		return c, broken("configure.options", "%d bytes, more than %d", len(m.Options), MaxOptions)
	}
	if err := checkActions("configure.actions", m.Actions); err != nil {
		return c, err
	}
	if err := checkTools("configure.tools", m.Tools); err != nil {
		return c, err
	}
	var err error
	c.FeatureShape, err = decodeShape("configure.feature_shape", m.FeatureShape)
	return c, err
}

// EncodePolicySpec encodes the answer to Configure: err if it is not nil, else
// spec. Name and version are in the description instead.
func EncodePolicySpec(spec policy.Spec, err error) *pb.PolicyReply {
	if err != nil {
		return &pb.PolicyReply{Fault: EncodeFault(err)}
	}
	return &pb.PolicyReply{Spec: &pb.PolicySpec{
		Learns: spec.Learns, Model: Cut(spec.Model, MaxName), Tokenizer: Cut(spec.Tokenizer, MaxName), Context: uint32(spec.Context),
		Imitates: spec.Imitates,
	}}
}

// DecodePolicySpec returns the spec, without name and version, or the error of
// the plug-in.
func DecodePolicySpec(m *pb.PolicyReply) (policy.Spec, error) {
	switch {
	case m.Fault != nil:
		return policy.Spec{}, DecodeFault(m.Fault)
	case m.Spec == nil:
		return policy.Spec{}, broken("spec", "is missing")
	case m.Spec.Context > 1<<30:
		return policy.Spec{}, broken("spec.context", "%d is too large", m.Spec.Context)
	}
	return policy.Spec{
		Learns: m.Spec.Learns, Model: Clean(m.Spec.Model, MaxName), Tokenizer: Clean(m.Spec.Tokenizer, MaxName), Context: int(m.Spec.Context),
		Imitates: m.Spec.Imitates,
	}, nil
}

// checkActions checks that the names of actions can be shown in lists and
// files.
func checkActions(where string, actions []string) error {
	if len(actions) > MaxActions {
		return broken(where, "%d actions, more than %d", len(actions), MaxActions)
	}
	seen := make(map[string]bool, len(actions))
	for i, a := range actions {
		if a == "" || a != Clean(a, MaxName) || seen[a] {
			return broken(where, "action %d, %q, is empty, repeated or not printable", i, Cut(a, MaxName))
		}
		seen[a] = true
	}
	return nil
}

// checkTools checks that tools is a JSON list. Its readers check the tools.
func checkTools(where string, tools json.RawMessage) error {
	var list []json.RawMessage
	if len(tools) == 0 {
		return nil
	}
	if len(tools) > MaxText || !utf8.Valid(tools) || strictjson.Unmarshal(tools, &list) != nil || list == nil {
		return broken(where, "is not a JSON list in UTF-8 of at most %d bytes", MaxText)
	}
	return nil
}
