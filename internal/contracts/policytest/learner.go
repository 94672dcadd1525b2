package policytest

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
)

// LearnerSubject is a learner under test.
type LearnerSubject struct {
	// Open returns a learner that has not learned anything, with the same
	// configuration each time. The suite closes it.
	Open func(t testing.TB) policy.Learner
	// Observe and Slow are the same as in Subject.
	Observe func(i int) policy.Observation
	Slow    *policy.Observation
	// Experience, if set, returns what l learns from in a round. Otherwise the
	// suite makes one-step episodes of l's own decisions; every other one is
	// good.
	Experience func(t testing.TB, l policy.Learner, k int) *policy.Experience
	// Named means that a state names weights that an engine keeps, so no two
	// states are equal.
	Named bool
	// Answers are what other policies answered, for a policy that imitates; nil is "yes" and "no".
	Answers []string
}

// RunLearner tests the contract of policy.Learner, and with Run that of its
// policy before and after an update:
//
//   - Each Learn increments Version, changes how the policy acts once it is
//     published, and is a function of state, experience and seed.
//   - Learning from no experience is not an error.
//   - Load restores the state that Save returned, in the same learner and in
//     another, for acting and for learning; nil is the initial state.
//   - If the policy imitates, answers of others become the tokens that it would have
//     sampled, the same each time, and learning from them changes how it acts.
//   - An interrupted update changes nothing, or reports that Load must come
//     next.
func RunLearner(t *testing.T, s LearnerSubject) {
	t.Run("policy", func(t *testing.T) { Run(t, s.subject(s.open(t))) })
	t.Run("policy that has learned", func(t *testing.T) {
		l := s.open(t)
		s.learn(t, l, 0)
		Run(t, s.subject(l))
	})
	t.Run("updates count and change the policy", s.updates)
	t.Run("updates are reproducible", s.reproducible)
	t.Run("nothing to learn", s.nothing)
	t.Run("imitation", s.imitation)
	t.Run("states round trip", s.states)
	t.Run("nonsense is not a state", s.nonsense)
	t.Run("interruption", s.interrupted)
	t.Run("closing", s.closing)
}

func (s LearnerSubject) open(t *testing.T) policy.Learner {
	l := s.Open(t)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	require.True(t, l.Spec().Learns)
	require.Equal(t, l.Spec(), l.Spec())
	require.Zero(t, l.Version())
	return l
}

func (s LearnerSubject) subject(l policy.Learner) Subject {
	return Subject{Policy: l, Observe: s.Observe, Slow: s.Slow}
}

// acts returns the learner's current decisions.
func (s LearnerSubject) acts(t testing.TB, l policy.Learner) []policy.Decision {
	subject := s.subject(l)
	decisions := act(t, subject, observations(subject, 24))
	for i, d := range decisions {
		require.NoError(t, d.Err, "decision %d", i)
	}
	return decisions
}

// learn runs a whole round: experience, update, publication.
func (s LearnerSubject) learn(t testing.TB, l policy.Learner, round int) policy.Stats {
	stats, err := l.Learn(context.Background(), s.experience(t, l, round), rl.Seed(17).Child(uint64(round)))
	require.NoError(t, err)
	require.NoError(t, l.Publish(context.Background()))
	return stats
}

func (s LearnerSubject) experience(t testing.TB, l policy.Learner, round int) *policy.Experience {
	if s.Experience != nil {
		return s.Experience(t, l, round)
	}
	subject := s.subject(l)
	asked := observations(subject, 16)
	for i := range asked {
		asked[i].Seed = rl.Seed(31).Path(uint64(round), uint64(i))
	}
	e := &policy.Experience{First: []int{0}}
	for i, d := range act(t, subject, asked) {
		require.NoError(t, d.Err)
		e.Trajectories = append(e.Trajectories, trajectory(fmt.Sprintf("round-%d-%d", round, i), &asked[i], &d, l.Version()))
		e.First = append(e.First, i+1)
		good := float64(1 - 2*(d.Action.Choice%2))
		e.Advantage, e.Weight, e.Return = append(e.Advantage, good), append(e.Weight, 1), append(e.Return, good)
	}
	return e
}

// imitation tests a policy that learns from answers of others. Others refuse to.
func (s LearnerSubject) imitation(t *testing.T) {
	l := s.open(t)
	if !l.Spec().Imitates {
		return
	}
	answers := s.Answers
	if answers == nil {
		answers = []string{"yes", "no"}
	}
	subject := s.subject(l)
	asked := observations(subject, 2*len(answers))
	for i := range asked {
		said := rl.Message{Role: rl.RoleAssistant, Content: rl.Text(answers[i%len(answers)])}
		asked[i] = policy.Observation{Messages: append(append([]rl.Message(nil), asked[i].Messages...), said), Answered: true}
	}
	before, again := s.acts(t, l), act(t, subject, asked)
	e := &policy.Experience{First: []int{0}, Imitate: true}
	for i, d := range act(t, subject, asked) {
		require.NoError(t, d.Err)
		require.Equal(t, answers[i%len(answers)], d.Raw)
		require.NotEmpty(t, d.Prompt)
		require.NotEmpty(t, d.Tokens)
		require.Equal(t, d, again[i])
		e.Trajectories = append(e.Trajectories, trajectory(fmt.Sprint("told-", i), &asked[i], &d, 0))
		e.First = append(e.First, i+1)
		e.Advantage, e.Weight, e.Return = append(e.Advantage, 1), append(e.Weight, 1), append(e.Return, 0)
	}
	_, err := l.Learn(context.Background(), e, 5)
	require.NoError(t, err)
	require.NoError(t, l.Publish(context.Background()))
	require.Equal(t, uint64(1), l.Version())
	require.NotEqual(t, before, s.acts(t, l))
}

// trajectory returns an episode of one step, as a rollout records it.
func trajectory(id string, o *policy.Observation, d *policy.Decision, version uint64) *rl.Trajectory {
	step := rl.Step{
		MessageCount: len(o.Messages), Anchor: o.Text, Available: o.Actions, Action: d.Action, RawOutput: d.Raw,
		LogProb: d.LogProb, Entropy: d.Entropy, Tokens: d.Tokens, PolicyVersion: version - d.Lag,
		Policy: &rl.Sampled{Features: o.Features, Mask: o.Mask, LogitMax: d.LogitMax},
	}
	if d.Prompt != nil {
		step.Prompt = rl.NewPrompt(nil, d.Prompt)
	}
	if d.HasValue {
		step.Value = &d.Value
	}
	said := rl.Message{Role: rl.RoleAssistant, Content: rl.Text(d.Action.Text)}
	return &rl.Trajectory{
		ID: id, Messages: append(append([]rl.Message(nil), o.Messages...), said), Steps: []rl.Step{step}, StopReason: rl.StopTerminated,
	}
}

func (s LearnerSubject) updates(t *testing.T) {
	l := s.open(t)
	before := s.acts(t, l)
	for round := range 3 {
		s.learn(t, l, round)
		require.Equal(t, uint64(round+1), l.Version())
		for _, d := range s.acts(t, l) {
			require.Zero(t, d.Lag, "the published weights act")
		}
	}
	require.NotEqual(t, before, s.acts(t, l))
}

func (s LearnerSubject) reproducible(t *testing.T) {
	one, two := s.open(t), s.open(t)
	for round := range 2 {
		require.Equal(t, s.learn(t, one, round), s.learn(t, two, round))
		require.Equal(t, s.acts(t, one), s.acts(t, two))
	}
	if !s.Named {
		require.Equal(t, s.save(t, one), s.save(t, two))
	}
}

func (s LearnerSubject) save(t testing.TB, l policy.Learner) []byte {
	state, err := l.Save(context.Background(), fmt.Sprintf("test-%d", l.Version()))
	require.NoError(t, err)
	require.NotEmpty(t, state)
	return state
}

func (s LearnerSubject) nothing(t *testing.T) {
	l := s.open(t)
	before := s.acts(t, l)
	idle := s.experience(t, l, 0)
	clear(idle.Weight)
	for i, e := range []*policy.Experience{{First: []int{0}}, idle} {
		_, err := l.Learn(context.Background(), e, 1)
		require.NoError(t, err)
		require.NoError(t, l.Publish(context.Background()))
		require.Equal(t, uint64(i+1), l.Version())
	}
	require.Equal(t, before, s.acts(t, l))
}

func (s LearnerSubject) states(t *testing.T) {
	l := s.open(t)
	start := s.acts(t, l)
	s.learn(t, l, 0)
	state, then := s.save(t, l), s.acts(t, l)
	require.Equal(t, then, s.acts(t, l), "saving changes nothing")
	s.learn(t, l, 1)
	later := s.acts(t, l)

	other := s.open(t)
	for _, x := range []policy.Learner{l, other} {
		require.NoError(t, x.Load(context.Background(), state))
		require.Equal(t, uint64(1), x.Version())
		require.Equal(t, then, s.acts(t, x), "a loaded state acts")
		s.learn(t, x, 1)
		require.Equal(t, later, s.acts(t, x), "and continues to learn")
		require.NoError(t, x.Load(context.Background(), nil))
		require.Zero(t, x.Version())
		require.Equal(t, start, s.acts(t, x))
	}
}

func (s LearnerSubject) nonsense(t *testing.T) {
	l := s.open(t)
	s.learn(t, l, 0)
	state, then := s.save(t, l), s.acts(t, l)
	for _, nonsense := range [][]byte{{1}, []byte("nonsense, but long enough for a header")} {
		err := l.Load(context.Background(), nonsense)
		require.Error(t, err)
		require.False(t, fault.Retryable(err), "it stays nonsense: %v", err)
	}
	require.NoError(t, l.Load(context.Background(), state))
	require.Equal(t, then, s.acts(t, l))
}

func (s LearnerSubject) interrupted(t *testing.T) {
	l := s.open(t)
	s.learn(t, l, 0)
	state, then, e := s.save(t, l), s.acts(t, l), s.experience(t, l, 1)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := l.Learn(ctx, e, 1)
	require.ErrorIs(t, err, context.Canceled)
	if fault.Retryable(err) {
		require.NoError(t, l.Load(context.Background(), state))
	}
	require.Equal(t, uint64(1), l.Version())
	require.Equal(t, then, s.acts(t, l))
}

func (s LearnerSubject) closing(t *testing.T) {
	l := s.open(t)
	require.NoError(t, l.Close())
	require.NoError(t, l.Close())
}
