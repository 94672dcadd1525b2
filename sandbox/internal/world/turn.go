package world

import (
	"bytes"
	"encoding/json"
	"math"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/internal/wire"
	"github.com/merit-rl/merit/internal/wire/block"
)

// row is the row of a slot in the columns of a reply.
type row struct {
	features []float32 // nil unless the batch wants them
	mask     []byte
	reward   *float64
	flag     *env.Flag
}

func rowOf(spec env.Spec, i int, r *env.Reply) row {
	actions := len(spec.Actions)
	out := row{mask: r.Mask[i*actions : (i+1)*actions], reward: &r.Reward[i], flag: &r.Flags[i]}
	if len(r.Features) > 0 {
		width := spec.Features()
		out.features = r.Features[i*width : (i+1)*width]
	}
	return out
}

func (w row) blank() {
	clear(w.features)
	clear(w.mask)
	*w.reward, *w.flag = 0, 0
}

const known = env.Terminated | env.Truncated | env.Failed | env.InvalidAction

// read checks the Turn at an address and copies it into the row of its slot.
func (w *worker) read(s *slot, at uint32, op env.Op, want env.Want, row row) error {
	g := s.guest
	turn, ok := g.instance.Bytes(at, block.TurnSize)
	if !ok {
		return g.bad("the turn is at %d, outside of its memory", at)
	}
	reward, flags := math.Float64frombits(le.Uint64(turn)), env.Flag(le.Uint32(turn[8:]))
	switch {
	case math.IsNaN(reward) || math.IsInf(reward, 0):
		return g.bad("the reward is %v, not a finite number", reward)
	case reward != 0 && op == env.Reset:
		return g.bad("the reward is %v right after a reset; it must be 0", reward)
	case le.Uint32(turn[8:])&^uint32(known) != 0:
		return g.bad("the flags %#x have unknown bits", le.Uint32(turn[8:]))
	}
	if err := w.report(s, turn[48:], op, flags); err != nil {
		return err
	}
	*row.reward, *row.flag = reward, flags
	if err := w.words(g, turn, want); err != nil {
		return err
	}
	if err := g.tensor(turn[32:], row.features); err != nil {
		return err
	}
	return g.choices(turn[40:], row.mask, flags)
}

// view returns the bytes of a span of the guest's memory, with rows of size bytes.
func (g *guest) view(span []byte, size uint32, what string) ([]byte, error) {
	at, n := le.Uint32(span), le.Uint32(span[4:])
	if n == 0 {
		return nil, nil
	}
	if n > math.MaxUint32/size {
		return nil, g.bad("the %s have %d rows", what, n)
	}
	p, ok := g.instance.Bytes(at, n*size)
	if !ok {
		return nil, g.bad("the %s at %d, of %d bytes, are outside of its memory", what, at, n*size)
	}
	return p, nil
}

// characters returns text of the guest.
func (g *guest) characters(span []byte, what string, most int) ([]byte, error) {
	p, err := g.view(span, 1, what)
	switch {
	case err != nil:
		return nil, err
	case len(p) > most:
		return nil, g.bad("the %s have %d bytes, more than %d", what, len(p), most)
	case !utf8.Valid(p):
		return nil, g.bad("the %s are not UTF-8", what)
	}
	return p, nil
}

// words reads anchor and text.
func (w *worker) words(g *guest, turn []byte, want env.Want) error {
	anchor, err := g.characters(turn[16:], "bytes of the anchor", wire.MaxText)
	if err != nil {
		return err
	}
	w.anchor.bytes = append(w.anchor.bytes, anchor...)
	if want&env.WantText == 0 {
		return nil
	}
	text, err := g.characters(turn[24:], "bytes of the text", wire.MaxText)
	if len(text) == 0 && le.Uint32(turn[12:]) == 0 {
		text = anchor
	}
	w.text.bytes = append(w.text.bytes, text...)
	return err
}

// The exponents of two float32 in a word; a carry out of one means that it is all ones.
const (
	exponents = 0x7f800000_7f800000
	lowest    = 0x00800000_00800000
	carries   = 0x80000000_80000000
)

// tensor copies the features, which must be finite.
func (g *guest) tensor(span []byte, features []float32) error {
	if features == nil {
		return nil
	}
	p, err := g.view(span, 4, "features")
	if err != nil {
		return err
	}
	if len(p) != 4*len(features) {
		return g.bad("there are %d features, not %d", len(p)/4, len(features))
	}
	odd := uint64(0)
	for len(features) >= 8 && len(p) >= 32 { // twice as fast as one word at a time
		a, b, c, d := le.Uint64(p), le.Uint64(p[8:]), le.Uint64(p[16:]), le.Uint64(p[24:])
		odd |= (a&exponents + lowest) | (b&exponents + lowest) | (c&exponents + lowest) | (d&exponents + lowest)
		features[0], features[1] = math.Float32frombits(uint32(a)), math.Float32frombits(uint32(a>>32))
		features[2], features[3] = math.Float32frombits(uint32(b)), math.Float32frombits(uint32(b>>32))
		features[4], features[5] = math.Float32frombits(uint32(c)), math.Float32frombits(uint32(c>>32))
		features[6], features[7] = math.Float32frombits(uint32(d)), math.Float32frombits(uint32(d>>32))
		features, p = features[8:], p[32:]
	}
	for n := range features {
		word := le.Uint32(p[4*n:])
		odd |= uint64(word)&exponents + lowest
		features[n] = math.Float32frombits(word)
	}
	if odd&carries != 0 {
		return g.bad("a feature is not a finite number")
	}
	return nil
}

// choices copies the mask. An episode that continues has an available action.
func (g *guest) choices(span []byte, mask []byte, flags env.Flag) error {
	p, err := g.view(span, 1, "mask")
	if err != nil {
		return err
	}
	if flags&env.Failed != 0 {
		clear(mask)
		return nil
	}
	if p == nil {
		for i := range mask {
			mask[i] = 1
		}
		return nil
	}
	if len(p) != len(mask) {
		return g.bad("the mask has %d bytes, not one for each of %d actions", len(p), len(mask))
	}
	copy(mask, p)
	for i, v := range mask {
		if v > 1 {
			return g.bad("action %d has %d in the mask, neither 0 nor 1", i, v)
		}
	}
	if flags&(env.Terminated|env.Truncated) == 0 && bytes.IndexByte(mask, 1) < 0 {
		return g.bad("the episode continues but no action is available")
	}
	return nil
}

// report reads the events.
func (w *worker) report(s *slot, span []byte, op env.Op, flags env.Flag) error {
	g := s.guest
	list, err := g.view(span, block.EventSize, "events")
	if err != nil {
		return err
	}
	if n := len(list) / block.EventSize; n > wire.MaxEvents {
		return g.bad("there are %d events in one turn, more than %d", n, wire.MaxEvents)
	}
	told := false
	for ; len(list) > 0; list = list[block.EventSize:] {
		e, err := g.event(list, op)
		if err != nil {
			return err
		}
		e.Slot = s.index
		told = told || e.Kind == env.EventError
		w.events = append(w.events, e)
	}
	if flags&env.Failed != 0 && !told {
		return g.bad("the slot failed, but no event says why")
	}
	return nil
}

// event reads one event.
func (g *guest) event(p []byte, op env.Op) (e env.Event, err error) {
	kind := le.Uint32(p)
	if int64(kind) >= int64(len(block.Kinds)) {
		return e, g.bad("an event has the unknown kind %d", kind)
	}
	e.Kind = env.EventKind(block.Kinds[kind])
	most := wire.MaxText
	if e.Kind == env.EventInfo {
		most = wire.MaxAttached
	}
	name, err := g.characters(p[4:], "bytes of the name of an event", wire.MaxName)
	if err != nil {
		return e, err
	}
	message, err := g.characters(p[12:], "bytes of the message of an event", most)
	if err != nil {
		return e, err
	}
	e.Name, e.Message = wire.Clean(string(name), wire.MaxName), string(message)
	switch {
	case e.Kind == env.EventError:
		e.Message = wire.Clean(e.Message, wire.MaxText)
	case e.Kind == env.EventTask && op != env.Reset:
		return e, g.bad("the slot set a task in the middle of an episode")
	case (e.Kind == env.EventInfo || e.Kind == env.EventTask) && !json.Valid(message):
		return e, g.bad("the %s %q is not JSON", e.Kind, e.Name)
	case e.Kind == env.EventMetric:
		if err := wire.CheckMetric(e.Name, e.Message); err != nil {
			return e, g.bad("%v", err)
		}
	}
	return e, nil
}

// arena collects the texts of some slots in one allocation.
type arena struct {
	bytes []byte
	ends  []int
}

func (a *arena) clear() { a.bytes, a.ends = a.bytes[:0], a.ends[:0] }
func (a *arena) end()   { a.ends = append(a.ends, len(a.bytes)) }

// strings sets the first texts to those of a. They share memory that is never written
// again.
func (a *arena) strings(texts []string) {
	whole, start := string(a.bytes), 0
	for i, end := range a.ends {
		texts[i], start = whole[start:end], end
	}
}
