package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/plugins/openai/chat"
	"github.com/merit-rl/merit/sdk/plugin"
)

// player is a model that plays.
type player struct {
	options Options
	client  *chat.Client
	ask     chat.Request // what all questions have in common
	model   string
	context int // tokens; 0 = not known
}

// newPlayer asks the server for the model: what is wrong with server, key or
// name is known before anything is played.
func newPlayer(setup plugin.PolicySetup, o Options) (plugin.Policy, error) {
	schema, err := o.schema()
	if err != nil {
		return nil, err
	}
	client, err := chat.New(o.Config)
	if err != nil {
		return nil, err
	}
	served, err := client.Served(context.Background()) // bounded by timeout and retries
	if err != nil {
		client.Close()
		return nil, err
	}
	p := &player{options: o, client: client, model: served.Model, context: min(served.Context, maxContext)}
	if p.context == 0 || o.Context > 0 && o.Context < p.context {
		p.context = o.Context
	}
	p.ask = chat.Request{TopP: &o.TopP, MaxTokens: o.MaxTokens, Stop: o.Stop, LogProbs: o.LogProbs, Schema: schema}
	if some := string(setup.Tools); some != "" && some != "[]" {
		p.ask.Tools, p.ask.ToolChoice = setup.Tools, o.ToolChoice
	}
	return p, nil
}

// maxContext is the most tokens of a context, more than any has.
const maxContext = 1 << 30

// Spec implements plugin.Policy.
func (p *player) Spec() plugin.PolicySpec {
	return plugin.PolicySpec{Model: p.model, Context: p.context}
}

// Close implements io.Closer.
func (p *player) Close() error {
	p.client.Close()
	return nil
}

// Act implements plugin.Policy.
func (p *player) Act(ctx context.Context, r *plugin.Request) (plugin.Decision, error) {
	answer, err := p.client.Complete(ctx, p.request(r))
	switch {
	case errors.Is(err, chat.ErrContext):
		return plugin.Decision{Stop: plugin.StopContext}, nil
	case errors.Is(err, chat.ErrFilter):
		return plugin.Decision{}, plugin.Retry(err) // other conversations may pass
	case err != nil:
		return plugin.Decision{}, err
	}
	return p.decision(answer)
}

// request is the question that r is. The randomness of a decision is that of
// its seed; a greedy one has none, so the same conversation is the same request.
func (p *player) request(r *plugin.Request) chat.Request {
	q, temperature := p.ask, p.options.Temperature
	if r.Greedy {
		temperature = 0
	}
	q.Temperature = &temperature
	if p.options.Seed {
		seed := int64(0)
		if !r.Greedy {
			seed = int64(r.Seed >> 33)
		}
		q.Seed = &seed
	}
	q.Messages = p.conversation(r.Messages)
	return q
}

// conversation puts what the options say around what was said.
func (p *player) conversation(said []plugin.Message) []plugin.Message {
	o := &p.options
	if o.System == "" && o.Prefill == "" {
		return said
	}
	all := make([]plugin.Message, 0, len(said)+2)
	if o.System != "" {
		first := plugin.Message{Role: "system", Content: plugin.Text(o.System)}
		if len(said) > 0 && said[0].Role == first.Role {
			first.Content = plugin.Text(o.System + "\n\n" + said[0].Content.Text())
			said = said[1:]
		}
		all = append(all, first)
	}
	all = append(all, said...)
	if o.Prefill != "" {
		all = append(all, plugin.Message{Role: "assistant", Content: plugin.Text(o.Prefill)})
	}
	return all
}

// Bounds of an answer: what a step keeps.
const (
	maxText  = 1 << 20 // bytes
	maxCalls = 64
	maxNote  = 1 << 15 // bytes
)

// decision is what an answer decides: Merit parses it. What the server gave of
// tokens goes through as it is.
func (p *player) decision(a *chat.Response) (plugin.Decision, error) {
	raw := a.Text
	if !strings.HasPrefix(raw, p.options.Prefill) { // some servers repeat it
		raw = p.options.Prefill + raw
	}
	switch {
	case a.Finish == chat.FinishFilter:
		return plugin.Decision{}, p.unusable(fault.Refused, "a content filter cut the answer", "look at what the conversation says, or use a server without a filter")
	case len(raw) > maxText || len(a.ToolCalls) > maxCalls || size(a.ToolCalls) > maxText:
		return plugin.Decision{}, p.unusable(fault.Exhausted, "the answer is longer than a step keeps", "lower max_tokens")
	case p.options.Context > 0 && a.Usage.Prompt+a.Usage.Completion > p.options.Context:
		return plugin.Decision{Stop: plugin.StopContext}, nil
	}
	d := plugin.Decision{Raw: raw, LogProb: a.LogProb(), Info: notes(a)}
	d.Action.ToolCalls = a.ToolCalls
	if a.Tokens != nil {
		d.Prompt, d.Tokens = a.Prompt, a.Tokens
	}
	if p.full(a) {
		d.Stop = plugin.StopContext
	}
	return d, nil
}

// full reports whether the answer ended because the context did.
func (p *player) full(a *chat.Response) bool {
	return a.Finish == chat.FinishLength && a.Usage.Completion < p.options.MaxTokens &&
		p.context > 0 && a.Usage.Prompt+a.Usage.Completion >= p.context-1
}

// unusable is the error of one answer, after which others may be of use.
func (p *player) unusable(kind fault.Kind, what, hint string) error {
	return &fault.Error{Boundary: fault.Model, Kind: kind, Where: p.model, What: what, Hint: hint, Retry: true}
}

// notes is what a step says of its answer: only what is the same each time that
// the same is asked, so not what the server had cached.
func notes(a *chat.Response) map[string]json.RawMessage {
	all := map[string]any{
		"finish": a.Finish,
		"usage":  map[string]int{"prompt": a.Usage.Prompt, "completion": a.Usage.Completion},
	}
	for key, text := range map[string]string{"reasoning": a.Reasoning, "refusal": a.Refusal} {
		if text != "" {
			all[key] = strings.ToValidUTF8(text[:min(len(text), maxNote)], "")
		}
	}
	info := make(map[string]json.RawMessage, len(all))
	for key, value := range all {
		info[key], _ = json.Marshal(value) // text and numbers have a JSON form
	}
	return info
}

// size is about how many bytes calls take.
func size(calls []plugin.ToolCall) (n int) {
	for _, c := range calls {
		n += len(c.ID) + len(c.Function.Name) + len(c.Function.Arguments) + 64
	}
	return n
}
