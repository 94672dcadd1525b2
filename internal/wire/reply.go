package wire

import (
	"bytes"
	"math"

	"github.com/merit-rl/merit/core/env"
	pb "github.com/merit-rl/merit/internal/wire/proto"
)

const allFlags = env.Terminated | env.Truncated | env.Failed | env.InvalidAction

// EncodeReply writes the reply to a batch into m, reusing m's memory. It
// returns an error if a column of r does not match spec.
func EncodeReply(m *pb.BatchReply, seq uint64, r *env.Reply, want env.Want, spec env.Spec) error {
	if err := checkColumns(r, want, spec); err != nil {
		return err
	}
	m.Seq, m.Fault, m.Events = seq, nil, m.Events[:0]
	m.Anchor, m.AnchorEnd = appendArena(m.Anchor[:0], m.AnchorEnd[:0], r.Anchor)
	m.Text, m.TextEnd = m.Text[:0], m.TextEnd[:0]
	if want&env.WantText != 0 {
		m.Text, m.TextEnd = appendArena(m.Text, m.TextEnd, r.Text)
	}
	m.Features, m.FeatureEncoding = m.Features[:0], pb.FeatureEncoding_FEATURES_F32
	if want&env.WantFeatures != 0 && spec.Features() > 0 {
		m.Features, m.FeatureEncoding = appendFeatures(m.Features, r.Features, spec.Features())
	}
	m.Mask = append(m.Mask[:0], r.Mask...)
	m.Reward, m.Flags = m.Reward[:0], m.Flags[:0]
	for i, v := range r.Reward {
		m.Reward = le.AppendUint64(m.Reward, math.Float64bits(v))
		m.Flags = append(m.Flags, byte(r.Flags[i]))
	}
	for _, e := range r.Events {
		m.Events = append(m.Events, &pb.Event{
			Slot: uint32(e.Slot), Kind: string(e.Kind), Name: Clean(e.Name, MaxName), Message: Cut(e.Message, maxMessage(e.Kind)),
		})
	}
	return nil
}

func checkColumns(r *env.Reply, want env.Want, spec env.Spec) error {
	n := spec.Slots
	for _, c := range []struct {
		name      string
		got, need int
		wanted    bool
	}{
		{"Anchor", len(r.Anchor), n, true},
		{"Text", len(r.Text), n, want&env.WantText != 0},
		{"Features", len(r.Features), n * spec.Features(), want&env.WantFeatures != 0},
		{"Mask", len(r.Mask), n * len(spec.Actions), true},
		{"Reward", len(r.Reward), n, true},
		{"Flags", len(r.Flags), n, true},
	} {
		if c.wanted && c.got != c.need {
			return broken("Reply."+c.name, "has %d rows, not %d", c.got, c.need)
		}
	}
	return nil
}

// DecodeReply checks m against its batch and writes it into r, reusing r's
// memory. It returns a fault in m unchanged.
func DecodeReply(m *pb.BatchReply, seq uint64, b *env.Batch, r *env.Reply, spec env.Spec) error {
	if m.Fault != nil {
		return DecodeFault(m.Fault)
	}
	if m.Seq != seq {
		return broken("seq", "is %d in the reply to batch %d", m.Seq, seq)
	}
	n := spec.Slots
	r.Anchor, r.Text = resize(r.Anchor, n), r.Text[:0]
	if err := decodeArena("anchor", m.Anchor, m.AnchorEnd, r.Anchor); err != nil {
		return err
	}
	if b.Want&env.WantText != 0 {
		r.Text = resize(r.Text, n)
	}
	if same := len(r.Text) > 0 && bytes.Equal(m.Text, m.Anchor) && bytes.Equal(m.TextEnd, m.AnchorEnd); same {
		copy(r.Text, r.Anchor)
	} else if err := decodeArena("text", m.Text, m.TextEnd, r.Text); err != nil {
		return err
	}
	r.Features = r.Features[:0]
	if width := spec.Features(); b.Want&env.WantFeatures != 0 && width > 0 {
		r.Features = resize(r.Features, n*width)
		if err := decodeFeatures(m.Features, m.FeatureEncoding, r.Features, width); err != nil {
			return err
		}
	} else if err := length("features", m.Features, 0, 1); err != nil {
		return err
	}
	if err := decodeOutcome(m, b, r, n); err != nil {
		return err
	}
	if err := decodeMask(m.Mask, b, r, n, len(spec.Actions)); err != nil {
		return err
	}
	return decodeEvents(m.Events, b, r, n)
}

// decodeOutcome reads rewards and flags.
func decodeOutcome(m *pb.BatchReply, b *env.Batch, r *env.Reply, n int) error {
	if err := length("reward", m.Reward, n, 8); err != nil {
		return err
	}
	if err := length("flags", m.Flags, n, 1); err != nil {
		return err
	}
	r.Reward, r.Flags = resize(r.Reward, n), resize(r.Flags, n)
	for i := range n {
		v, f := math.Float64frombits(le.Uint64(m.Reward[8*i:])), env.Flag(m.Flags[i])
		switch {
		case !finite(v):
			return broken("reward", "slot %d has the reward %v", i, v)
		case v != 0 && b.Ops[i] == env.Reset:
			return broken("reward", "slot %d has the reward %v right after its reset", i, v)
		case f&^allFlags != 0:
			return broken("flags", "slot %d has unknown bits in %#x", i, byte(f))
		}
		r.Reward[i], r.Flags[i] = v, f
	}
	return nil
}

// decodeMask decodes masks, and checks that an episode that continues has an
// available action.
func decodeMask(mask []byte, b *env.Batch, r *env.Reply, n, actions int) error {
	if err := length("mask", mask, n, actions); err != nil {
		return err
	}
	r.Mask = append(r.Mask[:0], mask...)
	for i := range n {
		available := actions == 0
		for a, v := range mask[i*actions : (i+1)*actions] {
			if v > 1 {
				return broken("mask", "slot %d, action %d has %d, neither 0 nor 1", i, a, v)
			}
			available = available || v == 1
		}
		over := r.Flags[i]&(env.Terminated|env.Truncated|env.Failed) != 0
		if !available && !over && b.Ops[i] != env.Skip {
			return broken("mask", "slot %d continues but has no action available", i)
		}
	}
	return nil
}

// EncodeEncoding encodes the answer to Encode: err if it is not nil, else the observation
// of one slot in r and the action of the answer.
func EncodeEncoding(r *env.Reply, action int, spec env.Spec, err error) *pb.EncodeReply {
	spec.Slots = 1
	m := &pb.EncodeReply{Observation: &pb.BatchReply{}, Action: int32(action)}
	if err == nil {
		r.Text, r.Reward, r.Flags, r.Events = nil, []float64{0}, []env.Flag{0}, nil
		err = EncodeReply(m.Observation, 0, r, env.WantFeatures, spec)
	}
	if err != nil {
		return &pb.EncodeReply{Fault: EncodeFault(err)}
	}
	return m
}

// DecodeEncoding writes an observation into r, which gets one slot, and returns the
// action, or the error of the plug-in.
func DecodeEncoding(m *pb.EncodeReply, r *env.Reply, spec env.Spec) (action int, err error) {
	switch {
	case m.Fault != nil:
		return 0, DecodeFault(m.Fault)
	case m.Observation == nil:
		return 0, broken("observation", "is missing")
	case m.Action < -1 || int64(m.Action) >= int64(len(spec.Actions)):
		return 0, broken("action", "is %d, and the environment has %d", m.Action, len(spec.Actions))
	}
	spec.Slots = 1
	b := env.NewBatch(spec)
	b.Ops[0], b.Want = env.Reset, env.WantFeatures
	if err := DecodeReply(m.Observation, 0, b, r, spec); err != nil {
		return 0, err
	}
	if r.Anchor[0] == "" || r.Flags[0] != 0 {
		return 0, broken("observation", "has no anchor, or is the end of an episode")
	}
	return int(m.Action), nil
}
