package result

import (
	"cmp"
	"math"
	"slices"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/sandbox/internal/limits"
)

// Collector takes what a guest says about the members of one evaluation,
// checks it and builds the results. It is used again: nothing is allocated
// but what the results hold. The errors of its methods are verdicts.
type Collector struct {
	limits  limits.Limits
	rule    reward.StepIndexing
	rollout []*rl.Trajectory
	members []member
	current int // the member spoken of, or −1
	group   bool
	held    string // the export that must send no results and is running, or empty
	text    int    // bytes of text taken
	metrics int
	steps   int
	seen    map[metricKey]struct{}
	names   map[string]string // metric names already made into strings
	log     []byte
	cut     int // bytes that the log lacks
	stdin   []byte
	stdout  []byte
	capture bool // standard output is the result, not the log
	last    bool // or the last line of it is
	long    bool // and that line is longer than may be returned
	muted   bool // there is no log
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

// maxNames bounds the metric names that are remembered.
const maxNames = 1024

// NewCollector returns a collector for rewards that count steps by rule.
func NewCollector(l limits.Limits, rule reward.StepIndexing) *Collector {
	return &Collector{limits: l, rule: rule, seen: map[metricKey]struct{}{}, names: map[string]string{}}
}

// CountBy changes the rule for step indices.
func (c *Collector) CountBy(rule reward.StepIndexing) { c.rule = rule }

// Start begins an evaluation of rollouts; in a group none is spoken of yet.
func (c *Collector) Start(rollouts []*rl.Trajectory, group bool) {
	c.rollout, c.current, c.group, c.held = rollouts, 0, group, ""
	if group {
		c.current = -1
	}
	c.text, c.metrics, c.steps = 0, 0, 0
	clear(c.seen)
	c.log, c.cut, c.stdin, c.stdout, c.capture, c.last, c.long = c.log[:0], 0, nil, c.stdout[:0], false, false, false
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

// Members is the number of members of the evaluation.
func (c *Collector) Members() int { return len(c.members) }

// Scored reports whether any member has a score.
func (c *Collector) Scored() bool {
	return slices.ContainsFunc(c.members, func(m member) bool { return m.scored && !m.failed })
}

// Bare reports whether member i has neither step rewards nor metrics.
func (c *Collector) Bare(i int) bool { return len(c.members[i].steps)+len(c.members[i].metrics) == 0 }

// Speak says which member the following results belong to; −1 is none of
// them, where an error is all members'.
func (c *Collector) Speak(i int) { c.current = i }

// Hold says that an export runs which must send no results; "" ends it.
func (c *Collector) Hold(export string) { c.held = export }

// mayTell reports what is wrong with a result at this time.
func (c *Collector) mayTell() error {
	if c.held != "" {
		return Violation("a result from within %s: only merit_evaluate and merit_evaluate_group send them", c.held)
	}
	return nil
}

// SetMember is Speak for a guest.
func (c *Collector) SetMember(index int32) error {
	if err := c.mayTell(); err != nil {
		return err
	}
	if len(c.members) > 0 && !c.group {
		return Violation("member(%d) outside of a group: merit_evaluate speaks of one conversation", index)
	}
	if index < 0 || int(index) >= len(c.members) {
		return Violation("member(%d) of a group of %d", index, len(c.members))
	}
	c.current = int(index)
	return nil
}

func (c *Collector) member() (*member, error) {
	switch err := c.mayTell(); {
	case err != nil:
		return nil, err
	case len(c.members) == 0:
		return nil, Violation("a result before there is a conversation: a start and a warm-up send none")
	case c.current < 0:
		return nil, Violation("a result before member() has said whose it is")
	}
	return &c.members[c.current], nil
}

// SetScore takes the score.
func (c *Collector) SetScore(v float64) error {
	m, err := c.member()
	switch {
	case err != nil:
		return err
	case m.scored:
		return Violation("set_score was called twice")
	case !finite(v):
		return Violation("the score is %v, not a finite number", v)
	}
	m.scored, m.score = true, v
	return nil
}

// SetReason takes the reason of the score.
func (c *Collector) SetReason(text []byte) error {
	m, err := c.member()
	if err != nil {
		return err
	}
	m.reason, err = c.take(text)
	return err
}

// SetError is the author's own error; in a group, before a member is spoken
// of, it is all members'. A start or a warm-up ends with it.
func (c *Collector) SetError(text []byte) error {
	if err := c.mayTell(); err != nil {
		return err
	}
	s, err := c.take(text)
	if err != nil {
		return err
	}
	if len(c.members) == 0 {
		return &Verdict{reward.GuestError, cmp.Or(s, noMessage)}
	}
	for i := range c.members {
		if c.current < 0 || c.current == i {
			c.members[i].failed, c.members[i].fail = true, s
		}
	}
	return nil
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
