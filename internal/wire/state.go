package wire

import (
	"github.com/merit-rl/merit/core/fault"
	pb "github.com/merit-rl/merit/internal/wire/proto"
)

// The replies of Publish, Save and Load. Decoders return the plug-in's own
// fault as failed, and a message that breaks the contract as err.

// EncodePublished answers Publish: with err, or the version that acts.
func EncodePublished(version uint64, err error) *pb.PublishReply {
	if err != nil {
		return &pb.PublishReply{Fault: EncodeFault(err)}
	}
	return &pb.PublishReply{Version: version}
}

// DecodePublished holds the version that acts to the newest.
func DecodePublished(m *pb.PublishReply, newest uint64) (failed, err error) {
	if m.Fault != nil {
		return DecodeFault(m.Fault), nil
	}
	if m.Version != newest {
		return nil, broken("version", "%d was published where the newest is %d", m.Version, newest)
	}
	return nil, nil
}

// CheckStateName holds the name of a state to what every engine and file system
// takes.
func CheckStateName(name string) error {
	ok := name != "" && len(name) <= MaxName
	for _, c := range []byte(name) {
		ok = ok && (c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z')
	}
	if !ok {
		return broken("save.name", "%q is not of letters, digits and hyphens", Clean(name, MaxName))
	}
	return nil
}

// EncodeSaved answers Save.
func EncodeSaved(state []byte, err error) *pb.SaveReply {
	if err != nil {
		return &pb.SaveReply{Fault: EncodeFault(err)}
	}
	return &pb.SaveReply{State: state}
}

// DecodeSaved returns the state. None is ever empty: that is the state before
// the first Learn.
func DecodeSaved(m *pb.SaveReply) (state []byte, failed, err error) {
	if m.Fault != nil {
		return nil, DecodeFault(m.Fault), nil
	}
	if len(m.State) == 0 || len(m.State) > MaxState {
		return nil, nil, broken("state", "has %d bytes, not 1 to %d", len(m.State), MaxState)
	}
	return m.State, nil, nil
}

// EncodeLoaded answers Load: with err, or the version that acts.
func EncodeLoaded(version uint64, err error) *pb.LoadReply {
	if err != nil {
		return &pb.LoadReply{Fault: EncodeFault(err)}
	}
	return &pb.LoadReply{Version: version}
}

// DecodeLoaded returns the version of a loaded state; fresh is whether that is
// the one before the first Learn.
func DecodeLoaded(m *pb.LoadReply, fresh bool) (version uint64, failed, err error) {
	if m.Fault != nil {
		return 0, DecodeFault(m.Fault), nil
	}
	if fresh && m.Version != 0 {
		return 0, nil, broken("version", "is %d before the first update", m.Version)
	}
	return m.Version, nil, nil
}

// CannotLearn is the error of a policy that is asked to learn and does not.
func CannotLearn(name string) error {
	return &fault.Error{
		Boundary: fault.Learner, Kind: fault.Refused, Where: name, What: "the policy does not learn",
		Hint: "train one that does; this one can be evaluated",
	}
}
