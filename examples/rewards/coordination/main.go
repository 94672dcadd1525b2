// Package main rewards several agents that agree on an answer: few rounds, a
// good answer, consensus, few words. README.md has the formula.
package main

import (
	"fmt"
	"strings"

	"github.com/merit-rl/merit/sdk/reward"
)

func init() { reward.Register(score) }

func main() {}

// The weights of the formula.
const (
	qualityWeight = 2.0
	agreed        = 1.0
	disagreed     = -0.5
	perThousand   = 0.5 // taken for a thousand words
	mostRounds    = 10  // worth nothing, unless the column max_rounds says otherwise
)

// agent is one of those who speak: its turns, and its last answer.
type agent struct {
	name, answer string
	turns        int
}

func score(r *reward.Rollout) reward.Result {
	agents, words, steps := listen(r)
	if len(agents) < 2 {
		return reward.Invalid("fewer than two agents speak: messages of the assistant need a name")
	}
	quality, problem := qualityOf(r, agents)
	if problem != "" {
		return reward.Invalid(problem)
	}
	most := mostRounds
	if limit := r.Meta("max_rounds"); limit.Kind != reward.Absent {
		if limit.Kind != reward.Number || limit.Number < 2 || limit.Number != float64(int(limit.Number)) {
			return reward.Error(fmt.Errorf("max_rounds is %s; it must be a whole number above 1", limit.JSON))
		}
		most = int(limit.Number)
	}
	if quality < 0 || quality > 1 {
		return reward.Error(fmt.Errorf("quality is %v; it must be 0 to 1", quality))
	}
	rounds := 0
	for _, a := range agents {
		rounds = max(rounds, a.turns)
	}
	speed := 1 - float64(rounds-1)/float64(most-1)
	consensus := disagreed
	if unanimous(agents) {
		consensus = agreed
	}
	total := max(speed, 0) + qualityWeight*quality + consensus
	result := reward.Score(total - perThousand*float64(words)/1000)
	steps[len(steps)-1].Reward += total // the costs of words stand at the messages, what they came to at the last
	result.Steps = steps
	result.Metrics = []reward.Metric{
		{Name: "rounds", Value: float64(rounds)}, {Name: "quality", Value: quality}, {Name: "consensus", Value: consensus}, {Name: "words", Value: float64(words)},
	}
	return result
}

// listen goes through what the agents say. A step is a message of the
// assistant, and costs its words.
func listen(r *reward.Rollout) (agents []agent, words int, steps []reward.StepReward) {
	step := -1
	for i := range r.Messages {
		m := &r.Messages[i]
		if m.Role != reward.Assistant {
			continue
		}
		step++
		n := len(strings.Fields(m.Content))
		words += n
		steps = append(steps, reward.StepReward{Index: step, Reward: -perThousand * float64(n) / 1000})
		if m.Name == "" {
			continue
		}
		at := 0
		for at < len(agents) && agents[at].name != m.Name {
			at++
		}
		if at == len(agents) {
			agents = append(agents, agent{name: m.Name})
		}
		agents[at].turns++
		if said, ok := answerOf(m.Content); ok {
			agents[at].answer = said
		}
	}
	return agents, words, steps
}

// answerOf is what follows the last "ANSWER:" on its line.
func answerOf(text string) (string, bool) {
	at := strings.LastIndex(text, "ANSWER:")
	if at < 0 {
		return "", false
	}
	line, _, _ := strings.Cut(text[at+len("ANSWER:"):], "\n")
	return strings.ToLower(strings.TrimSpace(line)), true
}

// unanimous reports whether all agents have an answer, and the same.
func unanimous(agents []agent) bool {
	for _, a := range agents {
		if a.answer == "" || a.answer != agents[0].answer {
			return false
		}
	}
	return true
}

// qualityOf is the column quality, or the share of the agents whose answer is
// the ground truth; there is a problem if there is neither.
func qualityOf(r *reward.Rollout, agents []agent) (quality float64, problem string) {
	switch given := r.Meta("quality"); {
	case given.Kind == reward.Number:
		return given.Number, ""
	case given.Kind != reward.Absent:
		return 0, "the column quality is no number"
	case r.GroundTruth.Kind == reward.Absent || r.GroundTruth.Kind == reward.Null:
		return 0, "there is neither a column quality nor a ground truth"
	}
	truth := strings.ToLower(strings.TrimSpace(r.GroundTruth.Text))
	for _, a := range agents {
		if a.answer == truth {
			quality += 1 / float64(len(agents))
		}
	}
	return quality, ""
}
