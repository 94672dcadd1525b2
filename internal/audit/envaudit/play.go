package envaudit

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// moment is what slot 0 returned in one exchange.
type moment struct {
	Anchor, Text string
	Reward       float64
	Flags        env.Flag
	Events       []env.Event
	Mask         []byte
}

// episode is one played episode.
type episode struct {
	Seed    uint64
	Actions []string // names or texts
	Moments []moment // the first one is that of the reset
	Longest time.Duration
}

// total is the sum of the rewards.
func (e *episode) total() (sum float64) {
	for _, m := range e.Moments {
		sum += m.Reward
	}
	return sum
}

func (e *episode) last() moment { return e.Moments[len(e.Moments)-1] }

func (e *episode) over() bool { return e.last().Flags&(env.Terminated|env.Truncated|env.Failed) != 0 }

// policy chooses the action of a step; the last moment has the mask.
type policy func(spec env.Spec, step int, now moment) string

// still repeats the first available action, or says nothing.
func still(spec env.Spec, _ int, now moment) string {
	for i, name := range spec.Actions {
		if now.Mask[i] == 1 {
			return name
		}
	}
	return ""
}

// random chooses among the available actions, or among texts, from a seed.
func random(seed uint64, texts []string) policy {
	state := seed*2862933555777941757 + 3037000493
	next := func(n int) int {
		state = state*6364136223846793005 + 1442695040888963407 // Knuth's MMIX
		return int(state >> 33 % uint64(n))
	}
	return func(spec env.Spec, _ int, now moment) string {
		if len(spec.Actions) == 0 {
			return texts[next(len(texts))]
		}
		for range 64 {
			if i := next(len(spec.Actions)); now.Mask[i] == 1 {
				return spec.Actions[i]
			}
		}
		return still(spec, 0, now)
	}
}

// fixed plays a list of actions, and then its last one.
func fixed(actions []string) policy {
	return func(spec env.Spec, step int, now moment) string {
		if len(actions) == 0 {
			return still(spec, step, now)
		}
		return actions[min(step, len(actions)-1)]
	}
}

// play plays one episode in slot 0 and leaves the other slots alone.
func play(ctx context.Context, e env.Env, seed uint64, most int, choose policy) (*episode, error) {
	spec := e.Spec()
	b, r, played := env.NewBatch(spec), env.Reply{}, &episode{Seed: seed}
	b.Want = env.WantText
	b.Ops[0], b.Seeds[0] = env.Reset, seed
	for step := 0; ; step++ {
		began := time.Now()
		if err := e.Exchange(ctx, b, &r); err != nil {
			return played, fmt.Errorf("seed %d, step %d: %w", seed, step, err)
		}
		played.Longest = max(played.Longest, time.Since(began))
		played.Moments = append(played.Moments, momentOf(spec, &r))
		if played.over() || step == most {
			return played, nil
		}
		action := choose(spec, step, played.last())
		played.Actions = append(played.Actions, action)
		b.Ops[0] = env.Step
		if b.Texts[0] = action; len(spec.Actions) > 0 {
			b.Actions[0] = int32(index(spec.Actions, action))
		}
	}
}

// index returns the place of a name; 0 if it is none.
func index(names []string, name string) int {
	for i := range names {
		if names[i] == name {
			return i
		}
	}
	return 0
}

func momentOf(spec env.Spec, r *env.Reply) moment {
	m := moment{Anchor: r.Anchor[0], Reward: r.Reward[0], Flags: r.Flags[0], Mask: append([]byte(nil), r.Mask[:len(spec.Actions)]...)}
	if len(r.Text) > 0 {
		m.Text = r.Text[0]
	}
	for _, e := range r.Events {
		if e.Slot == 0 {
			m.Events = append(m.Events, e)
		}
	}
	return m
}

// task returns the task that a reset set, or nil.
func (e *episode) task() *rl.Task {
	for _, v := range e.Moments[0].Events {
		if v.Kind == env.EventTask {
			if t, err := rl.DecodeTask([]byte(v.Message)); err == nil {
				return t
			}
		}
	}
	return nil
}

// seen returns everything that an agent reads in the first n moments.
func (e *episode) seen(system string, n int) string {
	var b strings.Builder
	b.WriteString(system)
	if t := e.task(); t != nil {
		for _, m := range t.Messages {
			b.WriteString("\n" + m.Content.Text())
		}
	}
	for _, m := range e.Moments[:min(n, len(e.Moments))] {
		b.WriteString("\n" + m.Text)
		for _, v := range m.Events {
			if v.Kind == env.EventToolResult {
				b.WriteString("\n" + v.Message)
			}
		}
	}
	return b.String()
}

// tool is one of the tools that an environment offers.
type tool struct {
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
}

// tools returns the names of the offered tools.
func tools(spec env.Spec) (names []string) {
	var offered []tool
	if strictjson.Unmarshal(spec.Tools, &offered) != nil {
		return nil
	}
	for _, t := range offered {
		names = append(names, t.Function.Name)
	}
	return names
}

// call is the text of a call without arguments.
func call(name string) string {
	c := rl.ToolCall{ID: "audit", Type: "function"}
	c.Function.Name, c.Function.Arguments = name, "{}"
	text, err := json.Marshal([]rl.ToolCall{c})
	if err != nil {
		return name
	}
	return string(text)
}
