package council

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// Settings configures a council.
type Settings struct {
	Config  Config
	Members []Member
	Seed    rl.Seed
	Sink    trace.Sink       // receives events as spans; may be nil
	Trace   string           // the ID of the trace; required with Sink
	Now     func() time.Time // the times of spans; nil uses the clock
}

// council is a decision in progress.
type council struct {
	cfg     Config
	members []Member
	seed    rl.Seed
	task    *rl.Task
	agents  []*rl.Trajectory
	answers []*rl.Trajectory
	tokens  [][]int32 // of each agent's conversation so far
	log     log
}

// Decide has the members decide about task. An agent whose policy fails temporarily has no
// answer or vote in that round, and the others continue; any other failure stops the decision.
// Errors of the sink are returned too.
func Decide(ctx context.Context, s Settings, task *rl.Task) (*Result, error) {
	names := make([]string, len(s.Members))
	for i, m := range s.Members {
		names[i] = m.Name
	}
	if err := errors.Join(append(s.Config.Validate(), CheckNames(names)...)...); err != nil {
		return nil, err
	}
	c := &council{cfg: s.Config, members: s.Members, seed: s.Seed, task: task, answers: make([]*rl.Trajectory, len(s.Members)), tokens: make([][]int32, len(s.Members)), log: newLog(s)}
	for _, m := range s.Members {
		c.agents = append(c.agents, &rl.Trajectory{
			ID: fmt.Sprintf("%s/%s", task.ID, m.Name), Group: task.ID + "/" + m.Name, Task: task.ID, Seed: task.Seed,
			Messages: opening(m.System, task.Messages), GroundTruth: task.GroundTruth, Metadata: task.Metadata, StopReason: rl.StopTerminated,
		})
	}
	if err := c.log.begin(ctx, task, names); err != nil {
		return nil, err
	}
	r, err := c.rounds(ctx)
	if err != nil {
		return nil, errors.Join(err, c.log.failed(ctx, err))
	}
	r.Agents, r.answers = c.agents, c.answers
	for _, t := range c.agents {
		if n := len(t.Steps); n > 0 {
			t.Steps[n-1].Terminated = true
		}
	}
	return r, nil
}

// opening returns the initial conversation of an agent.
func opening(system string, task []rl.Message) []rl.Message {
	if system == "" {
		return append([]rl.Message(nil), task...)
	}
	if len(task) > 0 && task[0].Role == rl.RoleSystem {
		joined := rl.Message{Role: rl.RoleSystem, Content: rl.Text(system + "\n\n" + task[0].Content.Text())}
		return append([]rl.Message{joined}, task[1:]...)
	}
	return append([]rl.Message{{Role: rl.RoleSystem, Content: rl.Text(system)}}, task...)
}

// rounds plays rounds until there is a decision.
func (c *council) rounds(ctx context.Context) (*Result, error) {
	r := &Result{Task: c.task.ID}
	var before []option // previous answers; nil in the first round and after a restart
	var reasons []Vote
	for n := 0; ; n++ {
		answers, err := c.everybodyAnswers(ctx, n, before, reasons)
		if err != nil {
			return nil, err
		}
		list := options(answers)
		round := Round{Answers: answers}
		if len(list) == 1 && len(list[0].authors) == len(c.members) {
			r.Rounds = append(r.Rounds, round)
			return r, c.end(ctx, r, &list[0], true)
		}
		if len(list) > 0 {
			if round.Votes, err = c.everybodyVotes(ctx, n, list); err != nil {
				return nil, err
			}
		}
		again := r.Restarts < c.cfg.Restarts && 2*restarts(round.Votes) > len(c.members) && n+1 < c.cfg.Rounds
		best, votes := leading(list, round.Votes, c.name, -1)
		agreed := best != nil && votes >= c.cfg.needed(len(c.members))
		round.Restart = again && !agreed
		r.Rounds = append(r.Rounds, round)
		switch {
		case agreed, !again && n+1 >= c.cfg.Rounds:
			return r, c.end(ctx, r, best, agreed)
		case again:
			r.Restarts++
			before, reasons = nil, round.Votes
		default:
			before, reasons = list, nil
		}
	}
}

// end records the decision.
func (c *council) end(ctx context.Context, r *Result, best *option, agreed bool) error {
	r.Consensus = agreed
	if best == nil {
		return c.log.end(ctx, len(r.Rounds)-1, "", false)
	}
	r.Answer = best.text
	for _, i := range best.authors {
		r.By = append(r.By, c.members[i].Name)
	}
	return c.log.end(ctx, len(r.Rounds)-1, r.By[0], agreed)
}

func (c *council) name(i int) string { return c.members[i].Name }

// everybodyAnswers has all members answer, after showing them the previous answers.
func (c *council) everybodyAnswers(ctx context.Context, round int, before []option, reasons []Vote) ([]Answer, error) {
	ask := ""
	switch {
	case before != nil:
		list := make([]string, len(before))
		for i, o := range before {
			list[i] = c.members[o.authors[0]].Name
		}
		if c.cfg.Blind {
			for i := range list {
				list[i] = string(rune('A' + i))
			}
		}
		ask = fmt.Sprintf(askAgain, ballot{before, list}.shown())
	case reasons != nil:
		var b strings.Builder
		for _, v := range reasons {
			if v.Restart {
				element(&b, "reason", "", v.Reason)
			}
		}
		ask = fmt.Sprintf(askAfresh, b.String())
	case round > 0:
		ask = "Nobody gave an answer that could be read. Answer the task. Say the answer only."
	}
	said, err := c.everybody(ctx, round, seedAnswer, func(int) string { return ask })
	if err != nil {
		return nil, err
	}
	answers := make([]Answer, len(said))
	for i, s := range said {
		answers[i] = Answer{Agent: c.name(i), Text: clip(s.text, c.cfg.MaxAnswer), Error: s.problem()}
		if answers[i].Text != "" {
			c.answers[i] = c.answered(i, answers[i].Text)
		}
	}
	return answers, c.log.answers(ctx, round, answers, said)
}

// answered returns the task and a member's answer, for rewards.
func (c *council) answered(i int, text string) *rl.Trajectory {
	n := len(c.task.Messages)
	return &rl.Trajectory{
		ID: c.agents[i].ID, Task: c.task.ID, Seed: c.task.Seed, Messages: append(c.task.Messages[:n:n], rl.Message{Role: rl.RoleAssistant, Content: rl.Text(text)}),
		GroundTruth: c.task.GroundTruth, Metadata: c.task.Metadata, StopReason: rl.StopTerminated,
		Steps: []rl.Step{{MessageCount: n, Action: rl.Action{Kind: rl.ActionText, Text: text}, RawOutput: text, Terminated: true, ActionValid: true}},
	}
}

// everybodyVotes has all members vote that have an option.
func (c *council) everybodyVotes(ctx context.Context, round int, list []option) ([]Vote, error) {
	ballots := make([]ballot, len(c.members))
	said, err := c.everybody(ctx, round, seedVote, func(i int) string {
		ballots[i] = c.ballot(list, i, round)
		if len(ballots[i].options) == 0 {
			return ""
		}
		return fmt.Sprintf(askVote, ballots[i].shown(), ballots[i].labels[0])
	})
	if err != nil {
		return nil, err
	}
	votes := make([]Vote, len(said))
	for i, s := range said {
		v := Vote{Agent: c.name(i), Error: s.problem()}
		label, restart, reason, ok := readVote(s.text, ballots[i].labels)
		switch {
		case restart:
			v.Restart, v.Reason = true, reason
		case ok:
			for k, l := range ballots[i].labels {
				if l == label {
					v.For = c.name(ballots[i].options[k].authors[0])
				}
			}
		case v.Error == "" && len(ballots[i].options) > 0:
			v.Error = "it names no answer"
		}
		if n := len(c.agents[i].Steps); s.asked && n > 0 && !ok {
			c.agents[i].Steps[n-1].ActionValid = false
		}
		votes[i] = v
	}
	return votes, c.log.votes(ctx, round, votes, said)
}
