package wire

import (
	"iter"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	pb "github.com/merit-rl/merit/internal/wire/proto"
)

const (
	partBytes  = 4 << 20 // bytes of a part, unless one sequence is larger
	tokenBytes = 17      // bytes of all columns of one token
)

// EncodeLearn yields the messages that carry sequences. There is always at
// least one.
func EncodeLearn(sequences []policy.Sequence, seed rl.Seed) (iter.Seq[*pb.LearnRequest], error) {
	for i := range sequences {
		if s := &sequences[i]; len(s.Tokens) > MaxSequence {
			return nil, &fault.Error{
				Boundary: fault.Learner, Kind: fault.Exhausted, Where: "trajectory " + s.Trajectory,
				What: "has more tokens than a plug-in accepts in one sequence", Hint: "play shorter episodes, or shorten their messages",
			}
		}
	}
	return func(yield func(*pb.LearnRequest) bool) {
		part := &pb.LearnRequest{Seed: uint64(seed), Sequences: uint32(len(sequences)), Imitate: len(sequences) > 0 && sequences[0].Imitate}
		for i := range sequences {
			if n := len(part.Sampled); n > 0 && (n+len(sequences[i].Sampled))*tokenBytes > partBytes {
				if !yield(part) {
					return
				}
				part = &pb.LearnRequest{}
			}
			appendSequence(part, &sequences[i])
		}
		yield(part)
	}, nil
}

func appendSequence(m *pb.LearnRequest, s *policy.Sequence) {
	m.Tokens = appendTokens(m.Tokens, s.Tokens)
	m.Sampled = append(m.Sampled, s.Sampled...)
	m.LogProb = appendFloats(m.LogProb, s.LogProb)
	m.Advantage = appendFloats(m.Advantage, s.Advantage)
	m.Weight = appendFloats(m.Weight, s.Weight)
	m.End = le.AppendUint32(m.End, uint32(len(m.Sampled)))
}

// Lesson collects, in the plug-in, the parts that it learns from.
type Lesson struct {
	Sequences []policy.Sequence
	Seed      rl.Seed
	announced int
	imitate   bool
	begun     bool
}

// Add adds the next part.
func (l *Lesson) Add(m *pb.LearnRequest) error {
	if !l.begun {
		l.begun, l.Seed, l.announced, l.imitate = true, rl.Seed(m.Seed), int(m.Sequences), m.Imitate
	}
	n, rows := len(m.End)/4, len(m.Sampled)
	if err := length("learn.end", m.End, n, 4); err != nil {
		return err
	}
	if len(l.Sequences)+n > l.announced {
		return broken("learn.end", "%d sequences, but %d were announced", len(l.Sequences)+n, l.announced)
	}
	tokens, err := decodeTokens("learn.tokens", m.Tokens)
	if err == nil {
		err = length("learn.tokens", m.Tokens, rows, 4)
	}
	if err != nil {
		return err
	}
	var columns [3][]float32
	for i, c := range []struct {
		where string
		bytes []byte
	}{{"learn.log_prob", m.LogProb}, {"learn.advantage", m.Advantage}, {"learn.weight", m.Weight}} {
		if columns[i], err = decodeFloats(c.where, c.bytes, rows); err != nil {
			return err
		}
	}
	from := 0
	for i := range n {
		to := int(le.Uint32(m.End[4*i:]))
		if to <= from || to > rows {
			return broken("learn.end", "sequence %d ends at token %d, not between %d and %d", i, to, from+1, rows)
		}
		s := policy.Sequence{
			Tokens: tokens[from:to:to], Sampled: m.Sampled[from:to:to],
			LogProb: columns[0][from:to:to], Advantage: columns[1][from:to:to], Weight: columns[2][from:to:to], Imitate: l.imitate,
		}
		if err := checkSequence(&s); err != nil {
			return err
		}
		l.Sequences = append(l.Sequences, s)
		from = to
	}
	if from != rows {
		return broken("learn.end", "%d tokens belong to no sequence", rows-from)
	}
	return nil
}

func checkSequence(s *policy.Sequence) error {
	for i, sampled := range s.Sampled {
		switch {
		case sampled > 1:
			return broken("learn.sampled", "row %d is %d, neither 0 nor 1", i, sampled)
		case sampled == 1 && i == 0:
			return broken("learn.sampled", "the first token cannot be sampled: nothing precedes it")
		case sampled == 0 && (s.LogProb[i] != 0 || s.Advantage[i] != 0 || s.Weight[i] != 0):
			return broken("learn.sampled", "row %d was not sampled but has a log-probability, advantage or weight", i)
		case s.Imitate && s.LogProb[i] != 0:
			return broken("learn.log_prob", "row %d has log-probability %v, but the answers are to be imitated", i, s.LogProb[i])
		case s.LogProb[i] > 0 || s.Weight[i] < 0:
			return broken("learn.weight", "row %d has log-probability %v and weight %v", i, s.LogProb[i], s.Weight[i])
		}
	}
	return nil
}

// End returns an error if parts are missing.
func (l *Lesson) End() error {
	if !l.begun || len(l.Sequences) != l.announced {
		return broken("learn", "only %d of %d sequences arrived", len(l.Sequences), l.announced)
	}
	return nil
}

// EncodeLearned encodes the answer to Learn: err if it is not nil, else the
// statistics. newest is the number of updates of the policy after this one.
func EncodeLearned(s policy.Stats, newest uint64, err error) *pb.LearnReply {
	if err != nil {
		return &pb.LearnReply{Fault: EncodeFault(err)}
	}
	return &pb.LearnReply{Version: newest, Stats: &pb.LearnStats{
		Loss: s.Loss, Kl: s.KL, Entropy: s.Entropy, ClipFraction: s.ClipFraction, GradNorm: s.GradNorm, LearningRate: s.LearningRate,
		Minibatches: uint32(s.Minibatches), Sequences: uint32(s.Sequences), Tokens: uint32(s.Tokens),
		Ratio: s.Ratio, Drift: s.Drift, DriftMax: s.DriftMax,
	}}
}

// DecodeLearned returns the statistics of an update. failed is the plug-in's
// own error; err means that the message breaks the contract.
func DecodeLearned(m *pb.LearnReply, newest uint64) (s policy.Stats, failed, err error) {
	if m.Fault != nil {
		return s, DecodeFault(m.Fault), nil
	}
	p := m.Stats
	if p == nil {
		return s, nil, broken("stats", "are missing")
	}
	if m.Version != newest {
		return s, nil, broken("version", "is %d, but must be %d after this update", m.Version, newest)
	}
	for _, v := range []float64{p.Loss, p.Kl, p.Entropy, p.ClipFraction, p.GradNorm, p.LearningRate, p.Ratio, p.Drift, p.DriftMax} {
		if !finite(v) {
			return s, nil, broken("stats", "contain %v", v)
		}
	}
	return policy.Stats{
		Loss: p.Loss, KL: p.Kl, Entropy: p.Entropy, ClipFraction: p.ClipFraction, GradNorm: p.GradNorm, LearningRate: p.LearningRate,
		Minibatches: int(p.Minibatches), Sequences: int(p.Sequences), Tokens: int(p.Tokens),
		Ratio: p.Ratio, Drift: p.Drift, DriftMax: p.DriftMax,
	}, nil, nil
}
