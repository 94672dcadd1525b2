package sandbox

import (
	"math"
	"slices"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
)

// collector takes what a guest says about the members of one evaluation,
// checks it and builds the results. It is used again: nothing is allocated
// but what the results hold.
type collector struct {
	limits  Limits
	rule    reward.StepIndexing
	rollout []*rl.Trajectory
	members []member
	current int // the member spoken of, or −1
	text    int // bytes of text taken
	metrics int
	steps   int
	seen    map[metricKey]struct{}
	names   map[string]string // metric names already made into strings
	log     []byte
	stdin   []byte
	stdout  []byte
	capture bool // standard output is the result, not the log
}

type member struct {
	scored bool
	score  float64
	failed bool
	reason string
	fail   string
	// assistants is the number of assistant messages.
	assistants int
	// position holds, for every index that a step may have, its place in steps
	// plus one; 0 where there is none yet.
	position []int32
	metrics  rl.Metrics
	steps    []rl.StepOutput
}

type metricKey struct {
	member, step int
	name         string
}

// maxNameBytes bounds a metric's name, maxNames the names that are remembered.
const (
	maxNameBytes = 256
	maxNames     = 1024
)

func newCollector(limits Limits, rule reward.StepIndexing) *collector {
	return &collector{limits: limits, rule: rule, seen: map[metricKey]struct{}{}, names: map[string]string{}}
}

// start begins an evaluation of rollouts; in a group none is spoken of yet.
func (c *collector) start(rollouts []*rl.Trajectory, group bool) {
	c.rollout, c.current = rollouts, 0
	if group {
		c.current = -1
	}
	c.text, c.metrics, c.steps = 0, 0, 0
	clear(c.seen)
	c.log, c.stdin, c.stdout, c.capture = c.log[:0], nil, c.stdout[:0], false
	c.members = slices.Grow(c.members[:0], len(rollouts))[:len(rollouts)]
	for i := range c.members {
		m := &c.members[i]
		*m = member{position: m.position[:0], metrics: m.metrics[:0], steps: m.steps[:0]}
		m.position = slices.Grow(m.position, len(rollouts[i].Messages))[:len(rollouts[i].Messages)]
		clear(m.position)
		for k := range rollouts[i].Messages {
			if rollouts[i].Messages[k].Role == rl.RoleAssistant {
				m.assistants++
			}
		}
	}
	if len(c.names) > maxNames {
		clear(c.names)
	}
}

func (c *collector) member() (*member, error) {
	if c.current < 0 {
		return nil, violation("a result before member() has said whose it is")
	}
	return &c.members[c.current], nil
}

func (c *collector) setMember(index int32) error {
	if index < 0 || int(index) >= len(c.members) {
		return violation("member(%d) of a group of %d", index, len(c.members))
	}
	c.current = int(index)
	return nil
}

func (c *collector) setScore(v float64) error {
	m, err := c.member()
	switch {
	case err != nil:
		return err
	case m.scored:
		return violation("set_score was called twice")
	case !finite(v):
		return violation("the score is %v, not a finite number", v)
	}
	m.scored, m.score = true, v
	return nil
}

func (c *collector) setStep(index int32, v float64) error {
	m, err := c.member()
	if err != nil {
		return err
	}
	if index < 0 {
		return violation("step %d is negative", index)
	}
	if err := c.exists(int(index)); err != nil {
		return err
	}
	if m.position[index] != 0 {
		return violation("step %d was rewarded twice", index)
	}
	if !finite(v) {
		return violation("the reward of step %d is %v, not a finite number", index, v)
	}
	if c.steps++; c.steps > c.limits.Steps {
		return overOutput("steps")
	}
	m.steps = append(m.steps, rl.StepOutput{StepIndex: rl.StepIndex(index), BaseReward: v})
	m.position[index] = int32(len(m.steps))
	return nil
}

// exists checks a step index against the conversation.
func (c *collector) exists(index int) error {
	messages := c.rollout[c.current].Messages
	if c.rule == reward.ByMessage {
		if index >= len(messages) || messages[index].Role != rl.RoleAssistant {
			return &verdict{reward.Unaligned, "step " + itoa(index) + " is not an assistant message of the conversation"}
		}
		return nil
	}
	n := c.members[c.current].assistants
	if index < n {
		return nil
	}
	return &verdict{reward.Unaligned, "step " + itoa(index) + " does not exist: the conversation has " + itoa(n) + " assistant messages"}
}

// step returns a step that has its reward.
func (c *collector) step(index int32) (*rl.StepOutput, error) {
	m, err := c.member()
	if err != nil {
		return nil, err
	}
	if index < 0 || int(index) >= len(m.position) || m.position[index] == 0 {
		return nil, violation("step %d is spoken of before it has a reward", index)
	}
	return &m.steps[m.position[index]-1], nil
}

func (c *collector) stepMetric(index int32, name []byte, v float64) error {
	s, err := c.step(index)
	if err != nil {
		return err
	}
	metric, err := c.newMetric(int(index), name, v)
	if err != nil {
		return err
	}
	s.Metrics = append(s.Metrics, metric)
	return nil
}

func (c *collector) stepReason(index int32, text []byte) error {
	s, err := c.step(index)
	if err != nil {
		return err
	}
	s.Reason, err = c.take(text)
	return err
}

func (c *collector) metric(name []byte, v float64) error {
	m, err := c.member()
	if err != nil {
		return err
	}
	metric, err := c.newMetric(-1, name, v)
	if err != nil {
		return err
	}
	m.metrics = append(m.metrics, metric)
	return nil
}

func (c *collector) newMetric(step int, name []byte, v float64) (rl.Metric, error) {
	if c.metrics++; c.metrics > c.limits.Steps {
		return rl.Metric{}, overOutput("steps")
	}
	if len(name) == 0 || len(name) > maxNameBytes {
		return rl.Metric{}, violation("a metric's name has %d bytes; it needs 1 to %d", len(name), maxNameBytes)
	}
	s, known := c.names[string(name)]
	if known {
		if err := c.charge(len(name)); err != nil {
			return rl.Metric{}, err
		}
	} else {
		var err error
		if s, err = c.take(name); err != nil {
			return rl.Metric{}, err
		}
		c.names[string(name)] = s
	}
	key := metricKey{c.current, step, s}
	if _, twice := c.seen[key]; twice {
		return rl.Metric{}, violation("the metric %q was set twice", s)
	}
	if !finite(v) {
		return rl.Metric{}, violation("the metric %q is %v, not a finite number", s, v)
	}
	c.seen[key] = struct{}{}
	return rl.Metric{Name: s, Score: v, IsScoreValid: true}, nil
}

func (c *collector) setReason(text []byte) error {
	m, err := c.member()
	if err != nil {
		return err
	}
	m.reason, err = c.take(text)
	return err
}

// setError is the author's own error; in a group, before member(), it speaks
// of all members.
func (c *collector) setError(text []byte) error {
	s, err := c.take(text)
	if err != nil {
		return err
	}
	for i := range c.members {
		if c.current < 0 || c.current == i {
			c.members[i].failed, c.members[i].fail = true, s
		}
	}
	return nil
}

// charge counts text against its limit, however often the same text comes.
func (c *collector) charge(n int) error {
	if c.text += n; c.text > c.limits.OutputKiB<<10 {
		return overOutput("output_kib")
	}
	return nil
}

// take checks guest text and copies it.
func (c *collector) take(text []byte) (string, error) {
	if err := c.charge(len(text)); err != nil {
		return "", err
	}
	if !utf8.Valid(text) {
		return "", violation("a text is not valid UTF-8")
	}
	return escape(string(text)), nil
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
