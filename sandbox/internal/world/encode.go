package world

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/wire"
	"github.com/merit-rl/merit/internal/wire/block"
)

var _ env.Encoder = (*Environment)(nil)

// Encode implements env.Encoder, in an instance that plays no slot. Each call begins in the
// state where episodes begin.
func (e *Environment) Encode(ctx context.Context, messages []string, answer string, r *env.Reply) (action int, err error) {
	if e.closed || !e.spec.Encodes {
		return 0, errors.New("the environment encodes no recorded calls, or is closed")
	}
	call, err := json.Marshal(block.Call{Messages: messages, Answer: answer})
	if err != nil {
		return 0, err
	}
	if e.encoder != nil && (e.origin == nil || e.encoder.instance.Restore() != nil) {
		e.encoder.close()
		e.encoder = nil
	}
	if e.encoder == nil {
		if e.encoder, err = e.fresh(ctx); err != nil {
			return 0, err
		}
	}
	text, err := e.encoder.ask(ctx, "encode", e.module.budget(), block.Encode, call)
	if f := fault.As(err); f != nil && f.Boundary == fault.Sandbox { // its state is unknown
		e.encoder.close()
		e.encoder = nil
	}
	if err != nil {
		return 0, err
	}
	return e.observed(text, r)
}

// observed checks what the module says of a call.
func (e *Environment) observed(text []byte, r *env.Reply) (int, error) {
	var said block.Encoding
	bad := func(what string) (int, error) {
		return 0, e.module.broken(fault.Protocol, "bad output: "+what, "correct what merit_encode returns")
	}
	if err := strictjson.Unmarshal(text, &said); err != nil {
		return bad("the encoding is not valid: " + err.Error())
	}
	actions := len(e.spec.Actions)
	mask := make([]byte, actions)
	for i := range mask {
		mask[i] = 1
		if i < len(said.Mask) {
			mask[i] = byte(min(said.Mask[i], 2))
		}
	}
	if len(said.Features) != e.spec.Features() || said.Mask != nil && len(said.Mask) != actions {
		return bad("the features or the mask have the wrong length")
	}
	r.Anchor, r.Features, r.Mask = append(r.Anchor[:0], said.Anchor), said.Features, mask
	return wire.DecodeEncoding(wire.EncodeEncoding(r, said.Action, e.spec, nil), r, e.spec)
}
