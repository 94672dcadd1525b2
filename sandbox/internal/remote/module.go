package remote

import (
	"context"
	"encoding/json"
	"time"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/sandbox/abi"
	"github.com/merit-rl/merit/sandbox/internal/channel"
	"github.com/merit-rl/merit/sandbox/internal/limits"
	"github.com/merit-rl/merit/sandbox/internal/profile"
	"github.com/merit-rl/merit/sandbox/internal/result"
	"github.com/merit-rl/merit/sandbox/internal/text"
	"github.com/merit-rl/merit/sandbox/internal/wire"
)

// Module is the host's side of a reward.
type Module struct {
	backend  *Backend
	number   int
	language string           // its extension, if it is a script
	profile  profile.Detached // nil for a script
	info     reward.Info
	manifest abi.Manifest
	fresh    bool // the worker starts an instance for every evaluation
}

// Info returns the description for reward.Scorer.
func (m *Module) Info() reward.Info { return m.info }

// Manifest returns the module's description of itself.
func (m *Module) Manifest() abi.Manifest { return m.manifest }

// Cached returns false: workers have no cache for modules.
func (m *Module) Cached() bool { return false }

// PeakMemory returns 0: the host does not know it.
func (m *Module) PeakMemory() int { return 0 }

// Fresh returns false: whatever the worker does inside, the mode in force is
// that of worker processes.
func (m *Module) Fresh() bool { return false }

// Close makes the workers unload the module.
func (m *Module) Close(context.Context) { m.backend.remove(m.number) }

// Evaluate evaluates one trajectory. input is nil unless it is already encoded.
func (m *Module) Evaluate(ctx context.Context, t *rl.Trajectory, input []byte) reward.Evaluation {
	return m.evaluate(ctx, []*rl.Trajectory{t}, input)[0]
}

// EvaluateGroup evaluates the members of a group, of which there must be at
// least one, and splits the fuel evenly.
func (m *Module) EvaluateGroup(ctx context.Context, members []*rl.Trajectory) []reward.Evaluation {
	return m.evaluate(ctx, members, nil)
}

func (m *Module) evaluate(ctx context.Context, members []*rl.Trajectory, input []byte) []reward.Evaluation {
	start := time.Now()
	results, fuel, v := m.try(ctx, members, input)
	if v != nil {
		results = make([]reward.Evaluation, len(members))
		for i := range results {
			results[i] = v.Evaluation("")
		}
	}
	result.Share(results, fuel, start)
	return results
}

// try lets a worker evaluate members. A worker that cannot load a program that
// the reward opens is replaced by one that can.
func (m *Module) try(ctx context.Context, members []*rl.Trajectory, input []byte) (results []reward.Evaluation, fuel uint64, v *result.Verdict) {
	for {
		l, err := m.backend.get(ctx, m.language)
		if err != nil {
			return nil, 0, result.Infrastructure(err)
		}
		frame, v, broken := m.ask(ctx, l, members, input)
		if v == nil && frame.Kind == wire.Wanted {
			if v = m.wanted(frame, l); v == nil {
				continue
			}
			return nil, 0, v
		}
		if v == nil {
			results, fuel, v = m.read(frame, members)
			broken = v != nil
		}
		m.backend.put(l, broken)
		return results, fuel, v
	}
}

// wanted replaces a worker that reported a language which it would need.
func (m *Module) wanted(frame wire.Frame, l *link) *result.Verdict {
	var language string
	defer m.backend.replace(l)
	if m.language == "" || json.Unmarshal(frame.Payload, &language) != nil {
		return result.Infrastructure(wire.ErrMessage)
	}
	return m.backend.offer(language, l.offered)
}

// ask sends the members to a worker and loads the module in it first if
// necessary.
func (m *Module) ask(ctx context.Context, l *link, members []*rl.Trajectory, input []byte) (frame wire.Frame, v *result.Verdict, broken bool) {
	if model := channel.ModelOf(ctx); model != nil {
		model.Begin()
	}
	_, v, err := m.backend.load(ctx, l, m.number)
	if v != nil {
		return frame, v, true
	}
	if err != nil {
		return frame, result.Infrastructure(err), false
	}
	if input, err = m.encode(l, members, input); err != nil {
		return frame, result.BadInput(err), false
	}
	frame, v = l.ask(ctx, m.patience(), answerBytes(m.backend.options.Limits, len(members)), wire.Evaluate,
		func(b []byte) []byte { return wire.AppendRequest(b, m.number, members, input) })
	return frame, v, v != nil
}

// patience returns how long the answer to an evaluation may take: until the
// worker's own watchdog has ended the evaluation, and the start before it if
// there is one.
func (m *Module) patience() time.Duration {
	o := &m.backend.options
	if m.fresh {
		return o.WallClock + max(o.WallClock, o.StartWallClock) + latePatience
	}
	return o.WallClock + latePatience
}

// encode returns input, or the members in the form that the worker reads.
func (m *Module) encode(l *link, members []*rl.Trajectory, input []byte) (_ []byte, err error) {
	if input == nil {
		encode := l.loaded[m.number]
		if encode == nil {
			encode = m.encoder()
			l.loaded[m.number] = encode
		}
		if input, err = encode(members); err != nil {
			return nil, err
		}
	}
	most := m.backend.options.InputMiB << 20
	if limit := most + m.slack(); len(input) > limit {
		return nil, &abi.TooLarge{Limit: most}
	}
	return input, nil
}

// slack returns how much longer than its limit an input may be here: the input
// of a script is JSON, and the worker checks the limit again.
func (m *Module) slack() int {
	if m.profile == nil {
		return frameRoom / 2
	}
	return 0
}

// encoder returns the encoder of the input of evaluations.
func (m *Module) encoder() profile.Encoder {
	if m.profile == nil {
		var buf []byte
		return func(members []*rl.Trajectory) (_ []byte, err error) {
			input, err := wire.AppendMembers(buf[:0], members)
			buf = input
			return input, err
		}
	}
	return m.profile.Encoder(m.backend.options.Limits)
}

// answerBytes returns the limit of an answer: what a collector allows, escaped,
// which may turn one byte into four.
func answerBytes(l limits.Limits, members int) int {
	return 1<<20 + 4*(l.OutputKiB<<10+l.LogKiB<<10) + l.Steps*64 + members*4096
}

// read reads an answer. A worker is trusted no more than a guest: its results
// pass through a collector again.
func (m *Module) read(frame wire.Frame, members []*rl.Trajectory) ([]reward.Evaluation, uint64, *result.Verdict) {
	if frame.Kind != wire.Result {
		return nil, 0, result.Infrastructure(wire.ErrMessage)
	}
	answer, err := wire.ParseAnswer(frame.Payload)
	if err != nil || len(answer.Evaluations) != len(members) {
		return nil, 0, result.Infrastructure(wire.ErrMessage)
	}
	l := m.backend.options.Limits
	l.OutputKiB *= 4
	c := result.NewCollector(l, m.info.StepIndexing)
	c.Start(members, m.info.Group)
	log := text.Escape(answer.Log)
	for i := range answer.Evaluations {
		e := &answer.Evaluations[i]
		c.Speak(i)
		ended := e.Outcome == reward.Scored || e.Outcome == reward.Invalid
		if err := c.Take(&e.Result); err != nil || e.Result.IsScoreValid != (e.Outcome == reward.Scored) || !ended && !c.Bare(i) {
			return nil, 0, result.Infrastructure(wire.ErrMessage)
		}
		e.Log, e.Reason = log, text.Escape(e.Reason)
		e.Result.Reason = text.Escape(e.Result.Reason)
	}
	return answer.Evaluations, answer.Fuel, nil
}
