package mixture_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/sampling"
	"github.com/merit-rl/merit/internal/contracts/envtest"
	"github.com/merit-rl/merit/internal/host/mixture"
	"github.com/merit-rl/merit/sdk/plugin"
)

// counter counts to a goal, which may depend on the seed.
type counter struct {
	goal   int
	system string
	at     int
}

func (c *counter) Spec() plugin.Spec {
	return plugin.Spec{Actions: []string{"wait", "count"}, MaxSteps: 2 * c.goal, System: c.system, Tasks: c.goal, FeatureShape: []int{1}}
}
func (c *counter) NewSlot() (plugin.Slot, error) { return &slot{counter: *c}, nil }

type slot struct {
	counter
	steps int
}

func (s *slot) Reset(seed uint64, turn *plugin.Turn) error {
	s.at, s.steps = int(seed%uint64(s.goal)), 0
	s.show(turn)
	return nil
}

func (s *slot) Step(a plugin.Action, turn *plugin.Turn) error {
	s.at += a.Index
	s.steps++
	if turn.Terminated = s.at >= s.goal; turn.Terminated {
		turn.Reward = float64(s.goal)
	}
	turn.Truncated = !turn.Terminated && s.steps == 2*s.goal
	s.show(turn)
	return nil
}

func (s *slot) show(turn *plugin.Turn) {
	text, _ := json.Marshal([]int{s.at, s.goal})
	turn.Anchor = append(turn.Anchor, text...)
	if turn.Features != nil {
		turn.Features[0] = float32(s.at)
	}
}

// Encode reads what show writes, of counters with the same goal.
func (c *counter) Encode(messages []string, _ string, turn *plugin.Turn) (int, error) {
	var text [2]int
	if json.Unmarshal([]byte(messages[len(messages)-1]), &text) != nil || text[1] != c.goal {
		return 0, turn.Refuse("no counter to this goal")
	}
	(&slot{counter: counter{at: text[0], goal: text[1]}}).show(turn)
	return -1, nil
}

const slots = 6

func open(t testing.TB, c counter) env.Env {
	d := plugin.Definition[struct{}]{Name: "counter", Version: "1", New: func(plugin.Setup, struct{}) (plugin.Environment, error) { return &c, nil }}
	e, err := d.Open(plugin.Setup{Slots: slots, Split: plugin.Train}, nil)
	require.NoError(t, err)
	return e
}

func parts() []mixture.Part {
	near, far := mixture.Part{Name: "near", Weight: 2}, mixture.Part{Weight: 1}
	near.Plugin, far.Plugin = "counter", "far"
	return []mixture.Part{near, far}
}

func mixed(t testing.TB) env.Env {
	m, err := mixture.New(parts(), []env.Env{open(t, counter{goal: 3, system: "Count to three."}), open(t, counter{goal: 5, system: "Count to five."})})
	require.NoError(t, err)
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// Promise: a mixture keeps the contract of env.Env.
func TestContract(t *testing.T) {
	envtest.Run(t, func(t testing.TB) env.Env { return mixed(t) })
}

// Promise: seeds deal episodes in proportion to weights; each episode is played by its
// environment, says which that is, and begins with that environment's system message.
func TestEpisodes(t *testing.T) {
	m := mixed(t)
	spec := m.Spec()
	require.Equal(t, []sampling.Source{{Name: "near", Weight: 2, Tasks: 3}, {Name: "far", Weight: 1, Tasks: 5}}, spec.Mixture)
	require.Equal(t, 10, spec.MaxSteps)
	require.Empty(t, spec.System)
	b, r := env.NewBatch(spec), env.Reply{}
	b.Want = env.WantText | env.WantFeatures
	for i := range slots {
		b.Ops[i], b.Seeds[i] = env.Reset, uint64(3*(i/3)+i%3) // 0 1 2 3 4 5: near near far …
	}
	require.NoError(t, m.Exchange(t.Context(), b, &r))
	require.Equal(t, []string{"[0,3]", "[0,3]", "[0,5]", "[1,3]", "[1,3]", "[1,5]"}, r.Anchor)
	require.Equal(t, []float32{0, 0, 0, 1, 1, 1}, r.Features)
	names, tasks := map[int]string{}, map[int]*rl.Task{}
	for _, e := range r.Events {
		if e.Kind == env.EventTask {
			task, err := rl.DecodeTask([]byte(e.Message))
			require.NoError(t, err)
			tasks[e.Slot] = task
			continue
		}
		require.Equal(t, mixture.Metadata, e.Name)
		names[e.Slot] = e.Message
	}
	require.Equal(t, map[int]string{0: `"near"`, 1: `"near"`, 2: `"far"`, 3: `"near"`, 4: `"near"`, 5: `"far"`}, names)
	require.Equal(t, "far-0000000000000001", tasks[5].ID)
	require.Equal(t, "Count to five.", tasks[5].Messages[0].Content.Text())
	require.Equal(t, "[1,5]", tasks[5].Messages[1].Content.Text())

	for i := range slots { // the near ones finish first
		b.Ops[i], b.Actions[i] = env.Step, 1
	}
	for range 2 {
		require.NoError(t, m.Exchange(t.Context(), b, &r))
	}
	require.Equal(t, []float64{0, 0, 0, 3, 3, 0}, r.Reward)
	require.Empty(t, r.Events)
}

// Promise: environments that a policy cannot see alike are refused, each with what differs.
func TestDifferent(t *testing.T) {
	specs := []env.Spec{{Actions: []string{"a"}, FeatureShape: []int{3}}, {Actions: []string{"b"}, FeatureShape: []int{3}}}
	_, err := mixture.Join(parts(), specs)
	require.EqualError(t, err, `near and far have different actions: ["a"] and ["b"]`)
	specs[1].Actions, specs[1].FeatureShape = specs[0].Actions, []int{4}
	_, err = mixture.Join(parts(), specs)
	require.EqualError(t, err, "near and far have different shapes of features: [3] and [4]")
	all := parts()
	all[1].Name, all[1].Weight = "near", 0
	problems := mixture.Validate(append(all, mixture.Part{Weight: 1}))
	require.Len(t, problems, 3)
}
