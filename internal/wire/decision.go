package wire

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
	pb "github.com/merit-rl/merit/internal/wire/proto"
)

// EncodeDecision encodes the answer to a request: err or d.Err if set, else d.
// newest is the number of updates of the policy.
func EncodeDecision(id uint64, d *policy.Decision, newest uint64, err error) *pb.ActReply {
	if err == nil {
		err = d.Err
	}
	var calls, info []byte
	if err == nil && len(d.Action.ToolCalls) > 0 {
		calls, err = json.Marshal(d.Action.ToolCalls)
	}
	if err == nil && len(d.Info) > 0 {
		info, err = json.Marshal(d.Info)
	}
	if err == nil && d.Lag > newest {
		err = fmt.Errorf("the decision is %d updates old, but there were only %d updates", d.Lag, newest)
	}
	if err != nil {
		return &pb.ActReply{Id: id, Fault: EncodeFault(err)}
	}
	m := &pb.Decision{
		Kind: string(d.Action.Kind), Choice: uint32(d.Action.Choice), ToolCalls: calls, Raw: strings.ToValidUTF8(d.Raw, "\uFFFD"),
		LogProb: d.LogProb, Entropy: d.Entropy, Prompt: appendTokens(nil, d.Prompt),
		Stop: string(d.Stop), Version: newest - d.Lag, Info: info,
	}
	if d.Action.Kind == rl.ActionText {
		m.Text = strings.ToValidUTF8(d.Action.Text, "\uFFFD")
	}
	if d.HasValue {
		m.Value = &d.Value
	}
	for _, t := range d.Tokens {
		m.Tokens = le.AppendUint32(m.Tokens, uint32(t.ID))
		m.LogProbs = le.AppendUint64(m.LogProbs, math.Float64bits(t.LogProb))
	}
	return &pb.ActReply{Id: id, Decision: m}
}

// DecodeDecision returns the decision among actions, or the error of the
// plug-in. newest is the number of updates of the policy.
func DecodeDecision(m *pb.ActReply, actions []string, newest uint64) (policy.Decision, error) {
	if m.Fault != nil {
		return policy.Decision{}, DecodeFault(m.Fault)
	}
	p := m.Decision
	switch {
	case p == nil:
		return policy.Decision{}, broken("decision", "is missing")
	case len(p.Raw) > MaxText:
		return policy.Decision{}, broken("decision.raw", "%d bytes, more than %d", len(p.Raw), MaxText)
	case p.Stop != "" && p.Stop != string(rl.StopPolicyEnded) && p.Stop != string(rl.StopContext):
		return policy.Decision{}, broken("decision.stop", "%q is neither policy_ended nor context", Clean(p.Stop, MaxName))
	case p.Version > newest:
		return policy.Decision{}, broken("decision.version", "is %d, but the newest version is %d", p.Version, newest)
	case !finite(p.Entropy) || p.Entropy < -roundoff:
		return policy.Decision{}, broken("decision.entropy", "is %v", p.Entropy)
	case p.Value != nil && !finite(*p.Value):
		return policy.Decision{}, broken("decision.value", "is %v", *p.Value)
	}
	d := policy.Decision{
		Raw: p.Raw, Entropy: max(p.Entropy, 0), Value: p.GetValue(), HasValue: p.Value != nil,
		Stop: rl.StopReason(p.Stop), Lag: newest - p.Version,
	}
	var err error
	if d.Action, err = decodeAction(p, actions); err != nil {
		return policy.Decision{}, err
	}
	if d.LogProb, err = logProbability("decision.log_prob", p.LogProb); err != nil {
		return policy.Decision{}, err
	}
	if err := decodeSampled(p, &d); err != nil {
		return policy.Decision{}, err
	}
	if d.Info, err = decodeInfo(p.Info); err != nil {
		return policy.Decision{}, err
	}
	return d, nil
}

func decodeAction(p *pb.Decision, actions []string) (rl.Action, error) {
	a := rl.Action{Kind: rl.ActionKind(p.Kind)}
	if len(p.ToolCalls) > 0 {
		if len(p.ToolCalls) > MaxText || !utf8.Valid(p.ToolCalls) {
			return a, broken("decision.tool_calls", "are not UTF-8 of at most %d bytes", MaxText)
		}
		if err := strictjson.Unmarshal(p.ToolCalls, &a.ToolCalls); err != nil || len(a.ToolCalls) > MaxCalls {
			return a, broken("decision.tool_calls", "are not a list of at most %d tool calls", MaxCalls)
		}
	}
	switch a.Kind {
	case "":
		if p.Raw == "" && len(a.ToolCalls) == 0 {
			a.Kind = rl.ActionText // empty text is an answer, not a choice
		}
	case rl.ActionChoice:
		if int64(p.Choice) >= int64(len(actions)) {
			return a, broken("decision.choice", "%d is not one of %d actions", p.Choice, len(actions))
		}
		a.Choice, a.Text = int(p.Choice), actions[p.Choice]
	case rl.ActionText:
		if len(p.Text) > MaxText {
			return a, broken("decision.text", "%d bytes, more than %d", len(p.Text), MaxText)
		}
		a.Text = p.Text
	case rl.ActionTool:
		if len(a.ToolCalls) == 0 {
			return a, broken("decision.tool_calls", "are missing")
		}
	default:
		return a, broken("decision.kind", "%q is not choice, text or tool", Clean(p.Kind, MaxName))
	}
	return a, nil
}

// decodeSampled decodes the tokens of the model, which learning needs.
func decodeSampled(p *pb.Decision, d *policy.Decision) error {
	var err error
	if d.Prompt, err = decodeTokens("decision.prompt", p.Prompt); err != nil {
		return err
	}
	ids, err := decodeTokens("decision.tokens", p.Tokens)
	if err != nil {
		return err
	}
	if err := length("decision.log_probs", p.LogProbs, len(ids), 8); err != nil || len(ids) == 0 {
		return err
	}
	d.Tokens = make([]rl.Token, len(ids))
	for i, id := range ids {
		d.Tokens[i].ID = id
		d.Tokens[i].LogProb, err = logProbability(fmt.Sprintf("decision.log_probs[%d]", i), math.Float64frombits(le.Uint64(p.LogProbs[8*i:])))
		if err != nil {
			return err
		}
	}
	return nil
}

func decodeInfo(raw []byte) (map[string]json.RawMessage, error) {
	var info map[string]json.RawMessage
	if len(raw) == 0 {
		return nil, nil
	}
	if len(raw) > MaxText || !utf8.Valid(raw) || strictjson.Unmarshal(raw, &info) != nil || len(info) > MaxInfo {
		return nil, broken("decision.info", "is not a JSON object in UTF-8 of at most %d bytes and %d keys", MaxText, MaxInfo)
	}
	for key := range info {
		if key != Clean(key, MaxName) {
			return nil, broken("decision.info", "the key %q is too long or not printable", Cut(key, MaxName))
		}
	}
	return info, nil
}
