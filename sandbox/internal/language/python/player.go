package python

import (
	"encoding/binary"
	"math"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/wire"
	"github.com/merit-rl/merit/internal/wire/block"
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/marshal"
	"github.com/merit-rl/merit/sandbox/internal/profile"
	"github.com/merit-rl/merit/sandbox/internal/result"
)

// player plays an environment in Python through merit_plugin._guest. A step is one call
// of its function with arguments that lie ready. The author's code leaves a Turn of
// merit_plugin behind, which the player reads in memory: only what is not in its simplest
// form is first settled in Python.
type player struct {
	guest
	at      addresses
	encoder marshal.Encoder
}

var _ profile.Player = (*player)(nil)

// addresses are where the objects of merit_plugin._guest are.
type addresses struct {
	turn, fault, calls, wants, arguments, scratch, settle, settles uint32
	none, yes, no                                                  uint32
	float, integer, text, bytes, list, tuple, features             uint32 // types
}

// Resume implements profile.Guest.
func (p *player) Resume(said []byte) error {
	if err := p.guest.Resume(said); err != nil {
		return err
	}
	at := func(name string) uint32 { return uint32(p.hello.shelf.Get(name).Int) }
	p.at = addresses{
		turn: at("turn"), fault: at("fault"), calls: at("calls"), wants: at("wants"), arguments: at("arguments"), scratch: at("scratch"), settle: at("settle"), settles: at("settles"),
		none: at("none"), yes: at("true"), no: at("false"),
		float: at("float"), integer: at("int"), text: at("str"), bytes: at("bytes"), list: at("list"), tuple: at("tuple"), features: at("features"),
	}
	return nil
}

// Start implements profile.Guest.
func (p *player) Start() *engine.Stop {
	stop := p.guest.Start()
	if stop == nil {
		if err := p.Resume(p.said); err != nil {
			stop = refused(err)
		}
	}
	return stop
}

// calls of merit_plugin._guest.ask.
var calls = map[string]string{block.Describe: "describe", block.Configure: "configure", block.Render: "render"}

// Ask implements profile.Player.
func (p *player) Ask(call string, input []byte) (said []byte, failed bool, stop *engine.Stop) {
	p.encoder.Reset()
	p.encoder.Tuple(2)
	p.encoder.Text(calls[call])
	p.encoder.Text(string(input))
	p.put(p.encoder.Bytes())
	if stop := p.invoke(p.hello.read, p.hello.empty); stop != nil {
		return nil, false, stop
	}
	said, ok := p.answer()
	if !ok || len(said) == 0 {
		return nil, false, refused(result.Violation(unreadable))
	}
	return said[1:], said[0] != 0, nil
}

// The functions of merit_plugin._guest.CALLS.
const (
	callReset = iota
	callStep
	callRender
)

// Draws implements profile.Player.
func (p *player) Draws() bool { return p.word(p.at.calls+objectSize) > callRender }

// Reset implements profile.Player.
func (p *player) Reset(seed uint64, want uint32) (uint32, *engine.Stop) {
	p.put(binary.LittleEndian.AppendUint64(nil, seed))
	return p.play(callReset, p.item(p.at.wants, want))
}

// Step implements profile.Player.
func (p *player) Step(action int32, text string, want uint32) (uint32, *engine.Stop) {
	actions := p.word(p.at.arguments+objectSize) / wants
	if actions == 1 && action == 0 { // perhaps a text
		p.encoder.Reset()
		p.encoder.Text(text)
		p.put(p.encoder.Bytes())
	} else if action < 0 || uint32(action) >= actions {
		return 0, refused(result.Violation("action %d is not one of %d", action, actions))
	}
	return p.play(callStep, p.item(p.at.arguments, want*actions+uint32(action)))
}

// wants is the number of values of env.Want.
const wants = 4

// item reads an item of a list.
func (p *player) item(list, n uint32) uint32 {
	if n >= p.word(list+objectSize) {
		return 0
	}
	return p.word(p.word(list+listItems) + 4*n)
}

// invoke calls a function with a tuple of arguments.
func (p *player) invoke(function, arguments uint32) *engine.Stop {
	returned, stop := p.instance.Call(p.call, uint64(function), uint64(arguments), 0)
	switch {
	case stop != nil:
		return p.explained(stop)
	case uint32(returned) == 0:
		return refused(&result.Verdict{Outcome: reward.GuestError, Reason: "the environment broke the interpreter"})
	}
	return nil
}

func refused(err error) *engine.Stop { return &engine.Stop{Kind: engine.Refused, Err: err} }

// play calls a function of a slot and returns where the block.Turn is.
func (p *player) play(call int, arguments uint32) (uint32, *engine.Stop) {
	if stop := p.invoke(p.item(p.at.calls, uint32(call)), arguments); stop != nil {
		return 0, stop
	}
	if p.word(p.hello.pending+dictUsed) != 0 {
		if stop := p.invoke(p.hello.settle, p.hello.empty); stop != nil {
			return 0, stop
		}
	}
	t, ok := p.open()
	switch {
	case !ok:
		return 0, refused(result.Violation(unreadable))
	case t.failed() || t.lay(call == callReset):
		return t.at, p.denied()
	}
	if stop := p.invoke(p.at.settle, p.item(p.at.settles, uint32(call))); stop != nil {
		return 0, stop
	}
	if t, ok = p.open(); !ok || !t.failed() && !t.lay(call == callReset) {
		return 0, refused(result.Violation(unreadable))
	}
	return t.at, p.denied()
}

// denied stops a call that was refused memory and said so.
func (p *player) denied() *engine.Stop {
	if p.instance.MemoryDenied() && p.word(p.item(p.at.fault, 0)+objectSize) != 0 {
		return &engine.Stop{Kind: engine.Trap, Text: "MemoryError"}
	}
	return nil
}

// The slots of merit_plugin.turn.Turn, in the order in which CPython places them.
const (
	turnEvents = iota
	turnAnchor
	turnFeatures
	turnInvalid
	turnMask
	turnReward
	turnTerminated
	turnText
	turnTruncated
	turnWantsFeatures
	turnWantsText
	turnSlots
)

const headBytes = 8 // of an object without a size

// spoken is the Turn of the guest, and the scratch in which it becomes a block.Turn.
type spoken struct {
	*player
	slots             []byte // the addresses of its values
	at                uint32 // where room is
	room              []byte
	features, actions uint32
}

func (p *player) open() (t spoken, ok bool) {
	data := p.word(p.at.scratch + arrayData)
	size := p.word(p.at.scratch + objectSize)
	t = spoken{player: p, features: p.word(data), actions: p.word(data + 4), at: data + headBytes}
	if t.room, ok = p.instance.Bytes(data, size); !ok || uint64(size) < headBytes+afterEvents+4*uint64(t.features)+uint64(t.actions) {
		return t, false
	}
	t.room = t.room[headBytes:]
	t.slots, ok = p.instance.Bytes(p.at.turn+headBytes, 4*turnSlots)
	return t, ok
}

const (
	mostEvents  = 16                                          // merit_plugin._columns.MAX_EVENTS
	afterEvents = block.TurnSize + mostEvents*block.EventSize // where the features are in the scratch
)

func (t *spoken) slot(n int) uint32 { return binary.LittleEndian.Uint32(t.slots[4*n:]) }

// span is the block.Span at an offset of the turn.
func (t *spoken) span(offset int, at, size uint32) {
	binary.LittleEndian.PutUint32(t.room[offset:], at)
	binary.LittleEndian.PutUint32(t.room[offset+4:], size)
}

// The offsets of a block.Turn.
const (
	atReward   = 0
	atFlags    = 8
	atShown    = 12
	atAnchor   = 16
	atText     = 24
	atFeatures = 32
	atMask     = 40
	atEvents   = 48
)

// failed writes the turn of a call that raised, if it did.
func (t *spoken) failed() bool {
	why := t.item(t.player.at.fault, 0)
	size := t.word(why + objectSize)
	if size == 0 {
		return false
	}
	clear(t.room)
	binary.LittleEndian.PutUint32(t.room[atFlags:], uint32(env.Failed))
	t.span(atFeatures, t.at+afterEvents, t.features)
	t.event(0, 0, 0, 0, why+bytesData, size)
	t.span(atEvents, t.at+block.TurnSize, 1)
	return true
}

func (t *spoken) event(n int, kind, name, nameSize, message, size uint32) {
	at := block.TurnSize + n*block.EventSize
	binary.LittleEndian.PutUint32(t.room[at:], kind)
	t.span(at+4, name, nameSize)
	t.span(at+12, message, size)
}

var flagSlots = [...]struct {
	slot int
	flag env.Flag
}{{turnTerminated, env.Terminated}, {turnTruncated, env.Truncated}, {turnInvalid, env.InvalidAction}}

// lay writes the turn. It reports false if a part is not in its simplest form, which
// includes everything that is wrong.
func (t *spoken) lay(reset bool) bool {
	clear(t.room[:block.TurnSize])
	reward, ok := t.number(t.slot(turnReward))
	if !ok || math.IsNaN(reward) || math.IsInf(reward, 0) || reset && reward != 0 {
		return false
	}
	binary.LittleEndian.PutUint64(t.room[atReward:], math.Float64bits(reward))
	flags := uint32(0)
	for _, f := range flagSlots {
		switch t.slot(f.slot) {
		case t.player.at.yes:
			flags |= uint32(f.flag)
		case t.player.at.no:
		default:
			return false
		}
	}
	binary.LittleEndian.PutUint32(t.room[atFlags:], flags)
	text := t.slot(turnText)
	if text != t.player.at.none {
		binary.LittleEndian.PutUint32(t.room[atShown:], 1)
	}
	return t.words(atAnchor, t.slot(turnAnchor)) && (text == t.player.at.none || t.words(atText, text)) &&
		t.tensor() && t.choices(flags) && t.events()
}

// number reads a float or a small int.
func (t *spoken) number(at uint32) (float64, bool) {
	switch t.word(at + objectType) {
	case t.player.at.float:
		b, ok := t.instance.Bytes(at+headBytes, 8)
		if !ok {
			return 0, false
		}
		return math.Float64frombits(binary.LittleEndian.Uint64(b)), true
	case t.player.at.integer:
		return t.small(at)
	}
	switch at {
	case t.player.at.yes:
		return 1, true
	case t.player.at.no:
		return 0, true
	}
	return 0, false
}

// small reads an int of at most one digit: the tag has its sign and the number of digits.
func (t *spoken) small(at uint32) (float64, bool) {
	tag, digit := t.word(at+headBytes), float64(t.word(at+headBytes+4)&0x7fff)
	switch {
	case tag>>3 > 1:
		return 0, false
	case tag&3 == 1:
		return 0, true
	case tag&3 == 2:
		return -digit, true
	}
	return digit, true
}

// words writes a span of ASCII text, or of UTF-8 in bytes.
func (t *spoken) words(offset int, at uint32) bool {
	const ascii = 3 << 5 // compact, ASCII
	size := t.word(at + objectSize)
	switch kind := t.word(at + objectType); {
	case size > wire.MaxText:
		return false
	case kind == t.player.at.text && t.word(at+textState)&ascii == ascii:
		t.span(offset, at+textShort, size)
		return true
	case kind == t.player.at.bytes:
		said, ok := t.instance.Bytes(at+bytesData, size)
		t.span(offset, at+bytesData, size)
		return ok && utf8.Valid(said)
	}
	return false
}

// items returns where the items of a list or tuple are, and their number.
func (t *spoken) items(at uint32) (first, count uint32, ok bool) {
	count = t.word(at + objectSize)
	switch t.word(at + objectType) {
	case t.player.at.list:
		return t.word(at + listItems), count, true
	case t.player.at.tuple:
		return at + listItems, count, true
	}
	return 0, 0, false
}

// values gives the items of a list or tuple of n finite numbers to put. It returns false if there
// is anything else.
func (t *spoken) values(at, n uint32, put func(i int, v float64)) bool {
	first, count, ok := t.items(at)
	if !ok || count != n {
		return false
	}
	list, ok := t.instance.Bytes(first, 4*n)
	if !ok {
		return false
	}
	for i := range int(n) {
		v, ok := t.number(binary.LittleEndian.Uint32(list[4*i:]))
		if !ok || math.IsInf(v, 0) || math.IsNaN(v) || math.IsInf(float64(float32(v)), 0) {
			return false
		}
		put(i, v)
	}
	return true
}

func (t *spoken) tensor() bool {
	if t.features == 0 || t.slot(turnWantsFeatures) != t.player.at.yes {
		return true
	}
	at, n := t.slot(turnFeatures), t.features
	if t.word(at+objectType) == t.player.at.features {
		t.span(atFeatures, at+bytesData, n)
		return t.word(at+objectSize) == 4*n
	}
	t.span(atFeatures, t.at+afterEvents, n)
	return t.values(at, n, func(i int, v float64) {
		binary.LittleEndian.PutUint32(t.room[afterEvents+4*i:], math.Float32bits(float32(v)))
	})
}

// choices writes the mask. An episode that continues needs an available action.
func (t *spoken) choices(flags uint32) bool {
	at, n := t.slot(turnMask), t.actions
	if at == t.player.at.none {
		return true
	}
	offset := afterEvents + 4*int(t.features)
	mask := t.room[offset : offset+int(n)]
	if t.word(at+objectType) == t.player.at.bytes {
		given, ok := t.instance.Bytes(at+bytesData, t.word(at+objectSize))
		if !ok || len(given) != int(n) {
			return false
		}
		copy(mask, given)
	} else if !t.values(at, n, func(i int, v float64) { mask[i] = one(v != 0) }) {
		return false
	}
	some := flags&uint32(env.Terminated|env.Truncated) != 0
	for _, v := range mask {
		if v > 1 {
			return false
		}
		some = some || v == 1
	}
	t.span(atMask, t.at+uint32(offset), n)
	return some
}

func one(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// events writes the events once they are settled: tuples of the number of the kind and two
// bytes objects.
func (t *spoken) events() bool {
	at := t.slot(turnEvents)
	if at == t.player.at.none {
		return true
	}
	first, count, ok := t.items(at)
	if !ok || count > mostEvents {
		return false
	}
	for i := range count {
		event, n, ok := t.items(t.word(first + 4*i))
		if !ok || n != 3 {
			return false
		}
		kind, ok := t.number(t.word(event))
		name, message := t.word(event+4), t.word(event+8)
		if !ok || t.word(name+objectType) != t.player.at.bytes || t.word(message+objectType) != t.player.at.bytes {
			return false
		}
		t.event(int(i), uint32(kind), name+bytesData, t.word(name+objectSize), message+bytesData, t.word(message+objectSize))
	}
	t.span(atEvents, t.at+block.TurnSize, count)
	return true
}
