package wire

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/merit-rl/merit/core/env"
	pb "github.com/merit-rl/merit/internal/wire/proto"
)

// Description describes a plug-in before it is configured.
type Description struct {
	Protocol uint32
	Name     string
	Version  string
	Summary  string
	Options  json.RawMessage // every option with its default
}

// EncodeDescription encodes the answer to Describe.
func EncodeDescription(d Description) *pb.Description {
	return &pb.Description{
		Protocol: d.Protocol, Name: d.Name, Version: d.Version, Summary: d.Summary, Options: d.Options,
	}
}

// DecodeDescription decodes the answer to Describe. It checks the version
// first, and reads nothing else of another version.
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

// EncodeRender encodes the answer to Render: err if it is not nil, else text.
func EncodeRender(text string, err error) *pb.RenderReply {
	if err != nil {
		return &pb.RenderReply{Fault: EncodeFault(err)}
	}
	return &pb.RenderReply{Text: Cut(text, MaxText)}
}

// DecodeRender returns the picture, or the error of the plug-in. The picture
// may have several lines; unprintable characters are escaped.
func DecodeRender(m *pb.RenderReply) (string, error) {
	if m.Fault != nil {
		return "", DecodeFault(m.Fault)
	}
	return Lines(m.Text, MaxText), nil
}

// Place is the part of a batch that an environment is working on.
type Place struct {
	Busy     bool // whether the environment is working on a batch
	Together bool // whether all slots step at once; Slot is meaningless then
	Slot     int
	For      time.Duration // how long it has been working on it
}

// String returns a clause for a sentence, or "" if the environment is idle.
func (p Place) String() string {
	switch {
	case !p.Busy:
		return ""
	case p.Together:
		return fmt.Sprintf("its slots, which step together, had been working for %.1f s", p.For.Seconds())
	}
	return fmt.Sprintf("slot %d had been working for %.1f s", p.Slot, p.For.Seconds())
}

// EncodePlace encodes the answer to Where.
func EncodePlace(p Place) *pb.WhereReply {
	return &pb.WhereReply{Busy: p.Busy, Slot: uint32(p.Slot), Milliseconds: uint64(p.For.Milliseconds()), Together: p.Together}
}

// DecodePlace decodes the answer to Where of an environment with slots. An
// invalid answer means idle; nothing depends on it.
func DecodePlace(m *pb.WhereReply, slots int) Place {
	const longest = uint64(24 * time.Hour / time.Millisecond)
	if int64(m.Slot) >= int64(slots) || m.Milliseconds > longest {
		return Place{}
	}
	return Place{Busy: m.Busy, Together: m.Together, Slot: int(m.Slot), For: time.Duration(m.Milliseconds) * time.Millisecond}
}

// EncodeSnapshot encodes the answer to Snapshot: err if it is not nil, else
// state, or an error if state is empty or too large.
func EncodeSnapshot(state []byte, err error) *pb.SnapshotReply {
	if err == nil {
		err = checkSnapshot(state)
	}
	if err != nil {
		return &pb.SnapshotReply{Fault: EncodeFault(err)}
	}
	return &pb.SnapshotReply{State: state}
}

// DecodeSnapshot returns the state, or the error of the plug-in.
func DecodeSnapshot(m *pb.SnapshotReply) ([]byte, error) {
	if m.Fault != nil {
		return nil, DecodeFault(m.Fault)
	}
	return m.State, checkSnapshot(m.State)
}

func checkSnapshot(state []byte) error {
	if n := len(state); n == 0 || n > env.MaxSnapshot {
		return broken("snapshot", "has %d bytes; it must have 1 to %d", n, env.MaxSnapshot)
	}
	return nil
}

// EncodeRestore encodes the answer to Restore.
func EncodeRestore(err error) *pb.RestoreReply {
	if err != nil {
		return &pb.RestoreReply{Fault: EncodeFault(err)}
	}
	return &pb.RestoreReply{}
}

// DecodeRestore returns the plug-in's error about a state.
func DecodeRestore(m *pb.RestoreReply) error {
	if m.Fault != nil {
		return DecodeFault(m.Fault)
	}
	return nil
}
