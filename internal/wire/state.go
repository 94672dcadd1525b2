package wire

import (
	"github.com/merit-rl/merit/core/fault"
	pb "github.com/merit-rl/merit/internal/wire/proto"
)

// The replies to Publish, Save and Load. Decoders return the plug-in's own error as
// failed; err means that the message breaks the contract.

// EncodePublished encodes the answer to Publish: err, or the version that acts.
func EncodePublished(version uint64, err error) *pb.PublishReply {
	if err != nil {
		return &pb.PublishReply{Fault: EncodeFault(err)}
	}
	return &pb.PublishReply{Version: version}
}

// DecodePublished checks that the version that acts is the newest.
func DecodePublished(m *pb.PublishReply, newest uint64) (failed, err error) {
	if m.Fault != nil {
		return DecodeFault(m.Fault), nil
	}
	if m.Version != newest {
		return nil, broken("version", "%d was published, but the newest is %d", m.Version, newest)
	}
	return nil, nil
}

// CheckStateName checks that every engine and file system accepts the name of a
// state.
func CheckStateName(name string) error {
	ok := name != "" && len(name) <= MaxName
	for _, c := range []byte(name) {
		ok = ok && (c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z')
	}
	if !ok {
		return broken("save.name", "%q does not consist of letters, digits and hyphens", Clean(name, MaxName))
	}
	return nil
}

// EncodeSaved encodes the answer to Save.
func EncodeSaved(state []byte, err error) *pb.SaveReply {
	if err != nil {
		return &pb.SaveReply{Fault: EncodeFault(err)}
	}
	return &pb.SaveReply{State: state}
}

// DecodeSaved returns the state, which is never empty: an empty state means the
// state before the first Learn.
func DecodeSaved(m *pb.SaveReply) (state []byte, failed, err error) {
	if m.Fault != nil {
		return nil, DecodeFault(m.Fault), nil
	}
	if len(m.State) == 0 || len(m.State) > MaxState {
		return nil, nil, broken("state", "has %d bytes, not 1 to %d", len(m.State), MaxState)
	}
	return m.State, nil, nil
}

// EncodeLoaded encodes the answer to Load: err, or the version that acts.
func EncodeLoaded(version uint64, err error) *pb.LoadReply {
	if err != nil {
		return &pb.LoadReply{Fault: EncodeFault(err)}
	}
	return &pb.LoadReply{Version: version}
}

// DecodeLoaded returns the version of a loaded state. fresh means that it is
// the state before the first Learn.
func DecodeLoaded(m *pb.LoadReply, fresh bool) (version uint64, failed, err error) {
	if m.Fault != nil {
		return 0, DecodeFault(m.Fault), nil
	}
	if fresh && m.Version != 0 {
		return 0, nil, broken("version", "is %d, but must be 0 before the first update", m.Version)
	}
	return m.Version, nil, nil
}

// CannotLearn returns the error of a policy that should learn but cannot.
func CannotLearn(name string) error {
	return &fault.Error{
		Boundary: fault.Learner, Kind: fault.Refused, Where: name, What: "the policy cannot learn",
		Hint: "train a policy that learns; you can only evaluate this one",
	}
}
