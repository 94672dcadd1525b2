package javascript

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/wire"
	"github.com/merit-rl/merit/internal/wire/block"
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/profile"
	"github.com/merit-rl/merit/sandbox/internal/result"
	"github.com/merit-rl/merit/sandbox/internal/source"
)

// player plays an environment in JavaScript through environment.js: the numbers of a turn
// are in a buffer of the guest, and its texts are one string.
type player struct {
	guest
	script  *source.Script
	streams profile.Streams
	stage   stage
}

var _ profile.Player = (*player)(nil)

// stage are the functions of environment.js.
type stage struct {
	memo
	Reset, Step, Buffer uint32
}

// stageModules are environment.js and the modules that it imports, before it.
var stageModules = []string{"refusals.js", "timers.js", "environment.js"}

const stageCode = "import { boot } from \"merit/environment.js\";\nimport * as environment from %q;\nboot(environment, %s);\n"

// Play implements source.Language.
func (l *Language) Play(s *source.Script) (source.Opener, engine.Process) {
	open := func(i *engine.Instance, streams profile.Streams) profile.Player {
		return &player{guest: newGuest(i, l.stack(), wire.MaxOptions+1), script: s, streams: streams}
	}
	return open, engine.Process{Args: []string{s.Name}, Files: engine.NewFiles(s.Files)} // it names what runs, also if the guest reads no files
}

// Start implements profile.Guest.
func (p *player) Start() *engine.Stop {
	return p.guard(func() error {
		if err := p.init(); err != nil {
			return err
		}
		p.Cell = p.call("wasm_malloc", cellBytes)
		p.library(stageModules)
		p.compile(p.script)
		name, _ := json.Marshal(p.script.Name) // strings always marshal
		merit := p.run(fmt.Sprintf(stageCode, p.script.Entry, name))
		p.stage = stage{memo: p.memo, Reset: p.property(merit, "reset"), Step: p.property(merit, "step"), Buffer: p.property(merit, "turn")}
		return nil
	})
}

// The cell: room for an argument and a length, the address and size of the buffer, and the
// texts of the last turn.
const (
	cellBuffer = 8
	cellSize   = 12
	cellTexts  = 16
	cellBytes  = 20
)

// Memo implements profile.Guest.
func (p *player) Memo() []byte {
	memo, _ := json.Marshal(p.stage) // numbers always marshal
	return memo
}

// Resume implements profile.Guest.
func (p *player) Resume(memo []byte) error {
	err := strictjson.Unmarshal(memo, &p.stage)
	p.memo = p.stage.memo
	return err
}

// calls of environment.js's ask.
var calls = map[string]string{block.Describe: "describe", block.Configure: "configure", block.Render: "render"}

// Ask implements profile.Player.
func (p *player) Ask(call string, input []byte) (said []byte, failed bool, stop *engine.Stop) {
	stop = p.guard(func() error {
		argument := p.string(calls[call] + "\n" + string(input))
		said = p.taken(p.invoke(p.Serve, argument), result.Violation("the environment answers with more than %d bytes", wire.MaxOptions))
		p.call("qjs_free_value", argument)
		if len(said) == 0 {
			return result.Violation("the environment gave no answer")
		}
		failed, said = said[0] != '0', said[1:]
		if call == block.Configure && !failed {
			buffer := p.invoke(p.stage.Buffer)
			p.store(p.Cell+cellBuffer, p.call("qjs_get_array_buffer", buffer, p.Cell))
			p.store(p.Cell+cellSize, p.load(p.Cell))
		}
		return nil
	})
	return said, failed, stop
}

// What environment.js leaves in the buffer, in bytes: the reward; numbers; features and mask.
const (
	atReward   = 376
	atNumbers  = 384
	atFeatures = 624
)

// The numbers, by their index. Each event has its kind and the sizes of its two texts.
const (
	numAction = iota
	numWant
	numSeed
	_
	numFlags
	numAnchor
	numText
	numEvents
	numLog
	numMask
	numDraws
	numActions
	numEvent
)

// mostEvents is the most that environment.js reports of a turn.
const mostEvents = 16

// buffer returns the address of the buffer and its bytes.
func (p *player) buffer() (at uint32, b []byte) {
	at = p.load(p.Cell + cellBuffer)
	b, ok := p.instance.Bytes(at, p.load(p.Cell+cellSize))
	if !ok || len(b) < atFeatures {
		panic(leave{&engine.Stop{Kind: engine.Refused, Err: result.Violation("the environment has no buffer")}})
	}
	return at, b
}

func number(b []byte, n int) uint32 { return binary.LittleEndian.Uint32(b[atNumbers+4*n:]) }

func setNumber(b []byte, n int, v uint32) { binary.LittleEndian.PutUint32(b[atNumbers+4*n:], v) }

// Draws implements profile.Player.
func (p *player) Draws() (draws bool) {
	stop := p.guard(func() error {
		_, b := p.buffer()
		draws = number(b, numDraws) != 0
		return nil
	})
	return draws && stop == nil
}

// Reset implements profile.Player.
func (p *player) Reset(seed uint64, want uint32) (at uint32, stop *engine.Stop) {
	stop = p.guard(func() error {
		_, b := p.buffer()
		setNumber(b, numWant, want)
		binary.LittleEndian.PutUint64(b[atNumbers+4*numSeed:], seed)
		at = p.play(p.stage.Reset)
		return nil
	})
	return at, stop
}

// Step implements profile.Player.
func (p *player) Step(action int32, text string, want uint32) (at uint32, stop *engine.Stop) {
	stop = p.guard(func() error {
		_, b := p.buffer()
		actions := number(b, numActions)
		if actions > 0 && (action < 0 || uint32(action) >= actions) {
			return result.Violation("action %d is not one of %d", action, actions)
		}
		setNumber(b, numWant, want)
		setNumber(b, numAction, uint32(action))
		if actions > 0 {
			at = p.play(p.stage.Step)
			return nil
		}
		argument := p.string(text)
		at = p.play(p.stage.Step, argument)
		p.call("qjs_free_value", argument)
		return nil
	})
	return at, stop
}

// play calls a function of the slot and returns where the block.Turn is.
func (p *player) play(function uint32, argument ...uint32) uint32 {
	if before := p.load(p.Cell + cellTexts); before != 0 {
		p.call("qjs_free_cstring", before)
	}
	value := p.invoke(function, argument...)
	texts := p.call("qjs_get_string_len", value, p.Cell)
	size := p.load(p.Cell)
	p.store(p.Cell+cellTexts, texts)
	p.call("qjs_free_value", value)
	at, b := p.buffer()
	p.lay(at, b, texts, texts+size)
	return at
}

// lay writes the block.Turn of what environment.js left behind. The texts follow one another.
func (p *player) lay(at uint32, b []byte, next, end uint32) {
	turn := b[:block.TurnSize]
	clear(turn)
	span := func(to []byte, at, size uint32) {
		binary.LittleEndian.PutUint32(to, at)
		binary.LittleEndian.PutUint32(to[4:], size)
	}
	words := func(to []byte, n int) {
		size := min(number(b, n), end-next)
		span(to, next, size)
		next += size
	}
	copy(turn, b[atReward:atReward+8])
	binary.LittleEndian.PutUint32(turn[8:], number(b, numFlags))
	words(turn[16:], numAnchor)
	if int32(number(b, numText)) >= 0 {
		turn[12] = 1
		words(turn[24:], numText)
	}
	actions := number(b, numActions)
	if width := (uint32(len(b)) - atFeatures - actions) / 4; width > 0 {
		span(turn[32:], at+atFeatures, width)
	}
	if number(b, numMask) != 0 {
		span(turn[40:], at+uint32(len(b))-actions, actions)
	}
	events := min(number(b, numEvents), mostEvents)
	for i := range int(events) {
		event := b[block.TurnSize+i*block.EventSize:]
		binary.LittleEndian.PutUint32(event, number(b, numEvent+3*i))
		words(event[4:], numEvent+3*i+1)
		words(event[12:], numEvent+3*i+2)
	}
	span(turn[48:], at+block.TurnSize, events)
	if size := min(number(b, numLog), end-next); size > 0 {
		if log, ok := p.instance.Bytes(next, size); ok {
			_ = p.streams.Output(2, log) // a log that is full takes no more
		}
	}
}
