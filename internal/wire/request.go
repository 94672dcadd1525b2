package wire

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
	pb "github.com/merit-rl/merit/internal/wire/proto"
)

// EncodeRequest encodes a request for a decision on o within limit; 0 = no
// limit. The caller sets the id. Actions and tools are part of the
// configuration and are not sent.
func EncodeRequest(o *policy.Observation, limit time.Duration) (*pb.ActRequest, error) {
	var messages bytes.Buffer
	e := json.NewEncoder(&messages)
	e.SetEscapeHTML(false) // as in rl.Content: no HTML page embeds it
	if err := e.Encode(o.Messages); err != nil {
		return nil, &fault.Error{Boundary: fault.Plugin, Kind: fault.Invalid, Where: "messages", What: "cannot be encoded as JSON", Err: err}
	}
	m := &pb.ActRequest{
		Messages: messages.Bytes(), Text: strings.ToValidUTF8(o.Text, "\uFFFD"),
		Features: appendFloats(nil, o.Features), Mask: o.Mask, Seed: uint64(o.Seed), Greedy: o.Greedy,
		Tokens: appendTokens(nil, o.Tokens), Covered: uint32(o.Covered), Answered: o.Answered,
	}
	if limit > 0 {
		m.Timeout = uint32(min((limit + time.Millisecond - 1).Milliseconds(), math.MaxUint32))
	}
	const columns = 1 << 10 // an upper bound for the size of the other fields
	if n := len(m.Messages) + len(m.Text) + len(m.Features) + len(m.Mask) + len(m.Tokens) + columns; n > MaxMessage {
		return nil, &fault.Error{
			Boundary: fault.Plugin, Kind: fault.Exhausted, Where: "messages",
			What: "the conversation is too long for a message to a plug-in", Hint: "shorten the environment's messages, or end the episode earlier",
		}
	}
	return m, nil
}

// DecodeRequest decodes the request in the plug-in.
func DecodeRequest(m *pb.ActRequest, c PolicyConfiguration) (policy.Observation, error) {
	o := policy.Observation{
		Text: m.Text, Actions: c.Actions, Tools: c.Tools, Seed: rl.Seed(m.Seed), Greedy: m.Greedy, Covered: int(m.Covered), Answered: m.Answered,
	}
	if !utf8.Valid(m.Messages) {
		return o, broken("messages", "are not UTF-8")
	}
	if err := strictjson.Unmarshal(m.Messages, &o.Messages); err != nil {
		return o, broken("messages", "are not a list of messages: %v", err)
	}
	if o.Covered > len(o.Messages) {
		return o, broken("covered", "is %d, but there are only %d messages", m.Covered, len(o.Messages))
	}
	if n := len(o.Messages); o.Answered && (n == 0 || o.Messages[n-1].Role != rl.RoleAssistant) {
		return o, broken("answered", "is set, but the last message is not an answer")
	}
	var err error
	if len(m.Features) > 0 {
		if o.Features, err = decodeFloats("features", m.Features, values(c.FeatureShape)); err != nil {
			return o, err
		}
	}
	if len(m.Mask) > 0 {
		if err := length("mask", m.Mask, len(c.Actions), 1); err != nil {
			return o, err
		}
		o.Mask = m.Mask
	}
	o.Tokens, err = decodeTokens("tokens", m.Tokens)
	return o, err
}

// values returns how many numbers a tensor has; 0 if it has no shape.
func values(shape []int) int {
	n := min(len(shape), 1)
	for _, d := range shape {
		n *= d
	}
	return n
}
