package wire

import (
	"github.com/merit-rl/merit/core/env"
	pb "github.com/merit-rl/merit/internal/wire/proto"
)

// EncodeBatch writes b, which must match spec, into m, reusing m's memory.
func EncodeBatch(m *pb.Batch, seq uint64, b *env.Batch, spec env.Spec) {
	m.Seq, m.Want = seq, uint32(b.Want)
	m.Op, m.Action, m.Seed = m.Op[:0], m.Action[:0], m.Seed[:0]
	m.Text, m.TextEnd = m.Text[:0], m.TextEnd[:0]
	discrete := len(spec.Actions) > 0
	for i, op := range b.Ops {
		m.Op = append(m.Op, byte(op))
		if op == env.Reset {
			m.Seed = le.AppendUint64(m.Seed, b.Seeds[i])
		}
		if discrete {
			action := int32(0)
			if op == env.Step {
				action = b.Actions[i]
			}
			m.Action = le.AppendUint32(m.Action, uint32(action))
		} else if op == env.Step {
			m.Text, m.TextEnd = appendArena(m.Text, m.TextEnd, b.Texts[i:i+1])
		}
	}
}

// DecodeBatch checks m against spec and writes it into b, reusing b's memory.
func DecodeBatch(m *pb.Batch, b *env.Batch, spec env.Spec) error {
	n := spec.Slots
	if err := length("op", m.Op, n, 1); err != nil {
		return err
	}
	if m.Want&^uint32(env.WantText|env.WantFeatures) != 0 {
		return broken("want", "unknown bits in %#x", m.Want)
	}
	b.Want = env.Want(m.Want)
	b.Ops, b.Actions = resize(b.Ops, n), resize(b.Actions, n)
	b.Texts, b.Seeds = resize(b.Texts, n), resize(b.Seeds, n)
	steps, resets := 0, 0
	for i, op := range m.Op {
		b.Ops[i] = env.Op(op)
		switch b.Ops[i] {
		case env.Step:
			steps++
		case env.Reset:
			resets++
		}
	}
	if err := decodeSeeds(m.Seed, b, resets); err != nil {
		return err
	}
	if err := decodeActions(m, b, len(spec.Actions), steps); err != nil {
		return err
	}
	if err := b.Check(spec); err != nil {
		return broken("batch", "%v", err)
	}
	return nil
}

func decodeSeeds(column []byte, b *env.Batch, resets int) error {
	if err := length("seed", column, resets, 8); err != nil {
		return err
	}
	clear(b.Seeds)
	for i, op := range b.Ops {
		if op == env.Reset {
			b.Seeds[i] = le.Uint64(column)
			column = column[8:]
		}
	}
	return nil
}

func decodeActions(m *pb.Batch, b *env.Batch, actions, steps int) error {
	clear(b.Actions)
	clear(b.Texts)
	if actions > 0 {
		if err := length("action", m.Action, len(b.Ops), 4); err != nil {
			return err
		}
		for i := range b.Actions {
			b.Actions[i] = int32(le.Uint32(m.Action[4*i:]))
		}
		return length("text", m.Text, 0, 1)
	}
	texts := make([]string, steps)
	if err := decodeArena("text", m.Text, m.TextEnd, texts); err != nil {
		return err
	}
	for i, op := range b.Ops {
		if op == env.Step {
			b.Texts[i], texts = texts[0], texts[1:]
		}
	}
	return length("action", m.Action, 0, 4)
}
