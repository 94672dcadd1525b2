package shardcodec

import (
	"encoding/binary"
	"math"
	"reflect"
	"slices"

	"github.com/merit-rl/merit/core/rl"
)

// Steps, messages and features make up nearly all of the data. Handwritten code encodes them
// ten times as fast as reflection, and in fewer bytes. Rare fields follow if a flag is set, in
// the general encoding.

var (
	stepType    = reflect.TypeFor[rl.Step]()
	messageType = reflect.TypeFor[rl.Message]()
)

const (
	flagTerminated = 1 << iota
	flagTruncated
	flagValid
	flagValue
	flagPolicy
	flagRare
	flagHeld
)

func (w *writer) step(s *rl.Step) {
	rare := s.Action.ToolCalls != nil || s.Prompt != nil || s.Tokens != nil || s.Info != nil || s.Credit != nil
	w.bytes = append(w.bytes, flag(s.Terminated, flagTerminated)|flag(s.Truncated, flagTruncated)|flag(s.ActionValid, flagValid)|
		flag(s.Value != nil, flagValue)|flag(s.Policy != nil, flagPolicy)|flag(rare, flagRare)|flag(s.Held, flagHeld))
	for _, n := range [...]int{s.Index, s.MessageCount, s.Action.Choice} {
		w.bytes = binary.AppendVarint(w.bytes, int64(n))
	}
	w.bytes = binary.AppendUvarint(w.bytes, s.PolicyVersion)
	for _, x := range [...]float64{s.LogProb, s.Entropy, s.EnvReward} {
		w.float(x)
	}
	for _, text := range [...]string{s.Anchor, string(s.Action.Kind), s.Action.Text, s.RawOutput} {
		w.text(text)
	}
	again := len(s.Available) > 0 && slices.Equal(s.Available, w.available)
	w.bytes = append(w.bytes, flag(again, 1))
	if !again {
		w.any(&s.Available)
		w.available = s.Available
	}
	if s.Value != nil {
		w.float(*s.Value)
	}
	if p := s.Policy; p != nil {
		w.features(p.Features)
		w.mask(p.Mask)
		w.bytes = binary.LittleEndian.AppendUint32(w.bytes, math.Float32bits(p.LogitMax))
	}
	if rare {
		w.any(&s.Action.ToolCalls)
		w.any(&s.Prompt)
		w.any(&s.Tokens)
		w.any(&s.Info)
		w.any(&s.Credit)
	}
}

// steps reads n steps. Their samples share one allocation.
func (r *reader) steps(n int) []rl.Step {
	steps := make([]rl.Step, n)
	r.samples, r.values = make([]rl.Sampled, 0, n), make([]float64, 0, n)
	for i := 0; i < n && r.err == nil; i++ {
		r.step(&steps[i])
	}
	return steps
}

func (r *reader) messages(n int) []rl.Message {
	messages := make([]rl.Message, n)
	for i := 0; i < n && r.err == nil; i++ {
		r.message(&messages[i])
	}
	return messages
}

func (r *reader) step(s *rl.Step) {
	flags := r.byte()
	if flags >= flagHeld<<1 {
		r.fail("a step has unknown flags")
	}
	s.Terminated, s.Truncated, s.ActionValid = flags&flagTerminated > 0, flags&flagTruncated > 0, flags&flagValid > 0
	s.Held = flags&flagHeld > 0
	for _, n := range [...]*int{&s.Index, &s.MessageCount, &s.Action.Choice} {
		*n = int(r.varint())
	}
	s.PolicyVersion = r.uvarint()
	for _, x := range [...]*float64{&s.LogProb, &s.Entropy, &s.EnvReward} {
		*x = r.float()
	}
	s.Anchor, s.Action.Kind, s.Action.Text, s.RawOutput = r.text(), rl.ActionKind(r.text()), r.text(), r.text()
	if again := r.bit(); again {
		s.Available = r.available
	} else {
		r.any(&s.Available)
		r.available = s.Available
	}
	if flags&flagValue > 0 {
		r.values = append(r.values, r.float())
		s.Value = &r.values[len(r.values)-1]
	}
	if flags&flagPolicy > 0 {
		r.samples = append(r.samples, rl.Sampled{Features: r.features(), Mask: r.mask()})
		s.Policy = &r.samples[len(r.samples)-1]
		if b := r.take(4); b != nil {
			s.Policy.LogitMax = math.Float32frombits(binary.LittleEndian.Uint32(b))
		}
	}
	if flags&flagRare > 0 {
		r.any(&s.Action.ToolCalls)
		r.any(&s.Prompt)
		r.any(&s.Tokens)
		r.any(&s.Info)
		r.any(&s.Credit)
	}
}

func (w *writer) message(m *rl.Message) {
	rare := m.Name != "" || m.ToolCalls != nil || m.ToolCallID != "" || m.More != nil
	w.bytes = append(w.bytes, flag(rare, 1))
	w.text(m.Role)
	w.content(m.Content)
	if rare {
		w.text(m.Name)
		w.any(&m.ToolCalls)
		w.text(m.ToolCallID)
		w.any(&m.More)
	}
}

func (r *reader) message(m *rl.Message) {
	rare := r.bit()
	m.Role, m.Content = r.text(), r.content()
	if rare {
		m.Name = r.text()
		r.any(&m.ToolCalls)
		m.ToolCallID = r.text()
		r.any(&m.More)
	}
}

// Encodings of features. Most rows contain only 0 and 1 and are stored as bits.
const (
	featuresNone = iota
	featuresBits
	featuresFloats
)

// features writes a row. A row that was written before is written as its number.
func (w *writer) features(row []float32) {
	if row == nil {
		w.bytes = append(w.bytes, featuresNone)
		return
	}
	form := byte(featuresBits)
	if !w.bits(row) {
		form = featuresFloats
		w.row = w.row[:0]
		for _, x := range row {
			w.row = binary.LittleEndian.AppendUint32(w.row, math.Float32bits(x))
		}
	}
	w.bytes = append(w.bytes, form)
	if form == featuresBits {
		w.bytes = binary.AppendUvarint(w.bytes, uint64(len(row)))
	}
	known(w, w.rows, w.row)
}

// bits packs a row into w.row as bits and reports whether all features are 0 or 1. It treats -0
// as neither, because it would be read back as 0. It takes eight features at a time and has no
// branches, because a branch on a feature is unpredictable: this is half the cost of writing a
// step.
func (w *writer) bits(row []float32) bool {
	w.row = w.row[:0]
	other := uint32(0)
	for ; len(row) >= 8; row = row[8:] {
		packed, rest := eight((*[8]float32)(row))
		w.row, other = append(w.row, packed), other|rest
	}
	if len(row) > 0 {
		var last [8]float32
		copy(last[:], row)
		packed, rest := eight(&last)
		w.row, other = append(w.row, packed), other|rest
	}
	return other == 0
}

// eight packs eight features; rest is 0 if all are 0 or 1. Bit 29 of a float32 is set in 1 and
// not in 0.
func eight(row *[8]float32) (packed byte, rest uint32) {
	const one = 0x3f800000 // 1 as a float32
	bit := func(i int) uint32 {
		b := math.Float32bits(row[i])
		set := b >> 29 & 1
		rest |= b ^ set*one
		return set << i
	}
	return byte(bit(0) | bit(1) | bit(2) | bit(3) | bit(4) | bit(5) | bit(6) | bit(7)), rest
}

// features reads a row. Equal rows share memory, so callers must not modify them.
func (r *reader) features() []float32 {
	form, length := r.byte(), uint64(0)
	switch form {
	case featuresNone:
		return nil
	case featuresBits:
		length = r.uvarint()
	case featuresFloats:
	default:
		r.fail("the encoding of the features is unknown")
	}
	n := r.uvarint()
	switch {
	case n > uint64(len(r.rows)):
		r.fail("row %d does not exist yet", n)
	case n > 0:
		if row := r.rows[n-1]; form == featuresFloats || length == uint64(len(row)) {
			return row
		}
		r.fail("a row has a different length than before")
	case r.err == nil:
		row := r.newRow(r.take(r.uvarint()), form, length)
		r.rows = append(r.rows, row)
		return row
	}
	return nil
}

func (r *reader) newRow(b []byte, form byte, length uint64) []float32 {
	if form == featuresFloats {
		if len(b)%4 != 0 {
			r.fail("the features are truncated")
			return nil
		}
		row := make([]float32, len(b)/4)
		for i := range row {
			if row[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])); row[i]-row[i] != 0 {
				r.fail("a feature is not finite")
			}
		}
		return row
	}
	if length > 8*uint64(len(b)) || uint64(len(b)) != (length+7)/8 {
		r.fail("the features are truncated")
		return nil
	}
	row := make([]float32, length)
	for i := range row {
		row[i] = float32(b[i/8] >> (i % 8) & 1)
	}
	return row
}

// mask writes the mask of a step, which mostly equals that of the previous step.
func (w *writer) mask(m []byte) {
	again := len(m) > 0 && slices.Equal(m, w.lastMask)
	w.bytes = append(w.bytes, flag(again, 1))
	if !again {
		w.any(&m)
		w.lastMask = m
	}
}

func (r *reader) mask() (m []byte) {
	if r.bit() {
		return r.lastMask
	}
	r.any(&m)
	r.lastMask = m
	return m
}

func flag(set bool, f byte) byte {
	if set {
		return f
	}
	return 0
}
