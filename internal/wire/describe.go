package wire

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/merit-rl/merit/core/env"
	pb "github.com/merit-rl/merit/internal/wire/proto"
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

// EncodeRender answers Render: with err if it is not nil, else with text.
func EncodeRender(text string, err error) *pb.RenderReply {
	if err != nil {
		return &pb.RenderReply{Fault: EncodeFault(err)}
	}
	return &pb.RenderReply{Text: Cut(text, MaxText)}
}

// DecodeRender returns the picture, or the error that the plug-in has instead.
// It may have several lines; what is not printable is escaped.
func DecodeRender(m *pb.RenderReply) (string, error) {
	if m.Fault != nil {
		return "", DecodeFault(m.Fault)
	}
	return Lines(m.Text, MaxText), nil
}

// Place is what an environment is at within a batch.
type Place struct {
	Busy     bool // a batch is under way
	Together bool // all slots step at once: Slot means nothing
	Slot     int
	For      time.Duration // how long it has been at that
}

// String says it as a part of a sentence, "" if the environment is idle.
func (p Place) String() string {
	switch {
	case !p.Busy:
		return ""
	case p.Together:
		return fmt.Sprintf("its slots, which step together, had been at work for %.1f s", p.For.Seconds())
	}
	return fmt.Sprintf("slot %d had been at work for %.1f s", p.Slot, p.For.Seconds())
}

// EncodePlace answers Where.
func EncodePlace(p Place) *pb.WhereReply {
	return &pb.WhereReply{Busy: p.Busy, Slot: uint32(p.Slot), Milliseconds: uint64(p.For.Milliseconds()), Together: p.Together}
}

// DecodePlace reads the answer of an environment of slots. One that makes no
// sense is that of an environment that is idle: nothing depends on it.
func DecodePlace(m *pb.WhereReply, slots int) Place {
	const longest = uint64(24 * time.Hour / time.Millisecond)
	if int64(m.Slot) >= int64(slots) || m.Milliseconds > longest {
		return Place{}
	}
	return Place{Busy: m.Busy, Together: m.Together, Slot: int(m.Slot), For: time.Duration(m.Milliseconds) * time.Millisecond}
}

// EncodeSnapshot answers Snapshot: with err if it is not nil, else with a state,
// unless it is none that may cross.
func EncodeSnapshot(state []byte, err error) *pb.SnapshotReply {
	if err == nil {
		err = checkSnapshot(state)
	}
	if err != nil {
		return &pb.SnapshotReply{Fault: EncodeFault(err)}
	}
	return &pb.SnapshotReply{State: state}
}

// DecodeSnapshot returns the state, or the error that the plug-in has instead.
func DecodeSnapshot(m *pb.SnapshotReply) ([]byte, error) {
	if m.Fault != nil {
		return nil, DecodeFault(m.Fault)
	}
	return m.State, checkSnapshot(m.State)
}

func checkSnapshot(state []byte) error {
	if n := len(state); n == 0 || n > env.MaxSnapshot {
		return broken("snapshot", "has %d bytes, of 1 to %d", n, env.MaxSnapshot)
	}
	return nil
}

// EncodeRestore answers Restore.
func EncodeRestore(err error) *pb.RestoreReply {
	if err != nil {
		return &pb.RestoreReply{Fault: EncodeFault(err)}
	}
	return &pb.RestoreReply{}
}

// DecodeRestore returns what the plug-in has against a state.
func DecodeRestore(m *pb.RestoreReply) error {
	if m.Fault != nil {
		return DecodeFault(m.Fault)
	}
	return nil
}
