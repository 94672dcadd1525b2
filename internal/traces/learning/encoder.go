package learning

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/merit-rl/merit/core/action"
	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/internal/traces/trace"
	"github.com/merit-rl/merit/internal/wire"
	"github.com/merit-rl/merit/sdk/merit"
)

// maxReason is the maximum number of bytes of an environment's reason to refuse a call.
const maxReason = 100

// encoder turns calls into what the policy of an environment would have seen. Its process
// runs only while calls are read.
type encoder struct {
	spec    env.Spec
	start   merit.OpenEnv
	answers *action.Parser
	running env.Env   // nil if it does not run
	reply   env.Reply // reused
}

// newEncoder returns the encoder of an environment, or nil if its policy reads text.
func newEncoder(spec env.Spec, start merit.OpenEnv) (*encoder, error) {
	if start == nil || spec.Features() == 0 {
		return nil, nil
	}
	c := action.DefaultConfig()
	c.Parse, c.Take, c.IgnoreCase = action.Choice, action.Last, true
	answers, err := action.New(c, spec.Actions, nil)
	if err != nil { // two names differ in case only
		c.IgnoreCase = false
		answers, err = action.New(c, spec.Actions, nil)
	}
	return &encoder{spec: spec, start: start, answers: answers}, err
}

// step gives step the observation and the action of call s, or returns why the policy
// cannot learn from it. An error means that the environment breaks its contract.
func (e *encoder) step(ctx context.Context, step *rl.Step, s *trace.Span) (why string, err error) {
	step.Available = e.spec.Actions
	if s.Status == trace.StatusError {
		return skipError, nil
	}
	texts, answer := said(s)
	at, err := e.encode(ctx, texts, answer)
	if why := refusal(err); why != "" {
		step.ActionValid = false
		return skipForeign + why, nil
	}
	if err != nil {
		return "", err
	}
	step.Anchor = e.reply.Anchor[0]
	if at < 0 {
		found, problem := e.answers.Parse(answer, nil)
		if problem != "" {
			step.ActionValid = false
			return skipChoice, nil
		}
		at = found.Choice
	}
	if e.reply.Mask[at] == 0 {
		step.ActionValid = false
		return skipIllegal, nil
	}
	step.Action = rl.Action{Kind: rl.ActionChoice, Choice: at, Text: e.spec.Actions[at]}
	step.Policy = &rl.Sampled{Features: append([]float32(nil), e.reply.Features...), Mask: append([]byte(nil), e.reply.Mask...)}
	return "", nil
}

// encode fills e.reply with a call's observation and returns its action.
func (e *encoder) encode(ctx context.Context, texts []string, answer string) (at int, err error) {
	if size := sizeOf(texts) + len(answer); size > wire.MaxMessage/2 {
		return 0, &fault.Error{Boundary: fault.Data, Kind: fault.Refused, What: "the call is too long"}
	}
	if e.running == nil {
		if e.running, err = e.start(ctx, train.SplitTrain, 0); err != nil {
			return 0, err
		}
	}
	from, ok := e.running.(env.Encoder)
	if !ok {
		return 0, unable(e.spec)
	}
	if at, err = from.Encode(ctx, texts, answer, &e.reply); err != nil {
		return 0, err
	}
	return at, e.sound(at)
}

// sound checks what an environment returned. Those of plug-ins have been checked by the
// host, but those of this process have not.
func (e *encoder) sound(at int) error {
	wrong := func(what string, args ...any) error {
		return &fault.Error{
			Boundary: fault.Plugin, Kind: fault.Protocol, Where: e.spec.Name, What: "the encoded observation " + fmt.Sprintf(what, args...),
			Hint: "correct the Encode of the environment: it returns what its own policy sees",
		}
	}
	r, n := &e.reply, len(e.spec.Actions)
	switch {
	case len(r.Anchor) != 1 || r.Anchor[0] == "":
		return wrong("has no anchor")
	case len(r.Features) != e.spec.Features():
		return wrong("has %d features, not %d", len(r.Features), e.spec.Features())
	case len(r.Mask) != n:
		return wrong("has a mask of %d actions, not %d", len(r.Mask), n)
	case at < -1 || at >= n:
		return wrong("has action %d of %d", at, n)
	}
	for i, v := range r.Features {
		if v-v != 0 {
			return wrong("has feature %d that is %v", i, v)
		}
	}
	return nil
}

// close ends the process. The next call starts another one.
func (e *encoder) close() error {
	if e == nil || e.running == nil {
		return nil
	}
	running := e.running
	e.running = nil
	return running.Close()
}

// refusal returns why an environment did not encode a call; empty if it did, or if the
// environment itself is at fault. The text is the plug-in's.
func refusal(err error) string {
	f := fault.As(err)
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return ""
	case f == nil: // an error of the author's method
		return "an error: " + wire.Clean(err.Error(), maxReason)
	case f.Boundary == fault.Data && f.Kind == fault.Refused:
		return cmp.Or(wire.Clean(f.What, maxReason), "no reason given")
	case f.Boundary == fault.Plugin && f.Where == "": // likewise; others name the plug-in
		return "an error: " + wire.Clean(f.What, maxReason)
	}
	return ""
}

// said returns the texts of a call's input, the newest last, and of its answer. Tool calls
// of the answer follow its text, each on a line: the name of the tool and its arguments.
func said(s *trace.Span) (texts []string, answer string) {
	for i := range s.Prompt.Messages {
		texts = append(texts, strings.ToValidUTF8(s.Prompt.Messages[i].Content.Text(), "\uFFFD"))
	}
	lines := []string{s.Prompt.Answer.Content.Text()}
	for _, c := range s.Prompt.Answer.ToolCalls {
		lines = append(lines, c.Function.Name+" "+c.Function.Arguments)
	}
	return texts, strings.TrimSpace(strings.ToValidUTF8(strings.Join(lines, "\n"), "\uFFFD"))
}

func sizeOf(texts []string) (n int) {
	for _, t := range texts {
		n += len(t)
	}
	return n
}

// unable is the error for an environment with features and without an encoder.
func unable(spec env.Spec) error {
	return wrong(fault.Invalid, "environment", "it returns features, and "+spec.Name+" cannot encode recorded text into them",
		"implement encode in its plug-in (Python: the method encode, Go: plugin.Encoder); set its options so that it returns only text; or remove it, and Merit measures on held-out traces")
}
