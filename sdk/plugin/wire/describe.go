package wire

import (
	"encoding/json"

	pb "github.com/merit-rl/merit/sdk/plugin/proto"
)

// Description is what a plug-in says of itself before it is configured.
type Description struct {
	Protocol uint32
	Name     string
	Version  string
	Summary  string
	Options  json.RawMessage // every option with its default
}

// EncodeDescription gives d to Describe.
func EncodeDescription(d Description) *pb.Description {
	return &pb.Description{
		Protocol: d.Protocol, Name: d.Name, Version: d.Version, Summary: d.Summary, Options: d.Options,
	}
}

// DecodeDescription checks the version first: of a plug-in that speaks
// another one, nothing else is believed.
func DecodeDescription(m *pb.Description) (Description, error) {
	name := Clean(m.Name, MaxName)
	if m.Protocol != Protocol {
		return Description{}, Mismatch(name, m.Protocol)
	}
	if m.Name == "" || m.Version == "" {
		return Description{}, broken("describe", "name %q and version %q must not be empty", name, Cut(m.Version, MaxName))
	}
	if len(m.Options) > MaxOptions || (len(m.Options) > 0 && !json.Valid(m.Options)) {
		return Description{}, broken("describe", "options are not JSON of at most %d bytes", MaxOptions)
	}
	return Description{
		Protocol: m.Protocol,
		Name:     name,
		Version:  Clean(m.Version, MaxName),
		Summary:  Clean(m.Summary, MaxText),
		Options:  m.Options,
	}, nil
}
