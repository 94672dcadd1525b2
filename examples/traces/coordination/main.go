// Package main rewards agents that decide together, by the spans of a trace: few
// rounds, a right answer, consensus, few tokens. README.md has the formula.
package main

import (
	"encoding/json"
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
	perThousand   = 0.5 // taken for a thousand tokens
	mostRounds    = 10  // worth nothing, unless the metadata max_rounds say otherwise
)

// span is what is read of a span.
type span struct {
	Agent        string
	Text         string
	Coordination *struct {
		Event     string
		Round     int
		For       string
		Consensus bool
	}
}

func score(r *reward.Rollout) reward.Result {
	var spans []span
	var used struct {
		Prompt     float64 `json:"prompt_tokens"`
		Completion float64 `json:"completion_tokens"`
	}
	for key, to := range map[string]any{"spans": &spans, "usage": &used} {
		if value := r.Meta(key); value.Kind != reward.Absent {
			if err := json.Unmarshal([]byte(value.JSON), to); err != nil {
				return reward.Error(fmt.Errorf("the metadata %s are not those of a trace: %w", key, err))
			}
		}
	}
	most := mostRounds
	if limit := r.Meta("max_rounds"); limit.Kind != reward.Absent {
		if limit.Kind != reward.Number || limit.Number < 2 || limit.Number != float64(int(limit.Number)) {
			return reward.Error(fmt.Errorf("max_rounds is %s; it must be a whole number above 1", limit.JSON))
		}
		most = int(limit.Number)
	}
	talk := listen(spans)
	if !talk.ended {
		return reward.Invalid("the agents came to no end: there is no coordination span of that event")
	}
	quality, problem := qualityOf(r, talk.final)
	if problem != "" {
		return reward.Invalid(problem)
	}
	consensus := disagreed
	if talk.consensus {
		consensus = agreed
	}
	speed := max(0, 1-float64(talk.rounds-1)/float64(most-1))
	tokens := used.Prompt + used.Completion
	result := reward.Score(speed + qualityWeight*quality + consensus - perThousand*tokens/1000)
	result.Metrics = []reward.Metric{
		{Name: "rounds", Value: float64(talk.rounds)}, {Name: "quality", Value: quality}, {Name: "consensus", Value: consensus}, {Name: "tokens", Value: tokens},
	}
	return result
}

// talk is what the agents came to.
type talk struct {
	rounds           int
	final            string
	ended, consensus bool
}

// listen goes through what happened among the agents. The final answer is the
// text of the end, or the last answer of the agent that it names.
func listen(spans []span) talk {
	var t talk
	said := map[string]string{}
	for _, s := range spans {
		c := s.Coordination
		if c == nil {
			continue
		}
		t.rounds = max(t.rounds, c.Round+1)
		switch c.Event {
		case "answer":
			said[s.Agent] = s.Text
		case "end":
			t.ended, t.consensus, t.final = true, c.Consensus, s.Text
			if t.final == "" {
				t.final = said[c.For]
			}
		}
	}
	return t
}

// qualityOf is the metadata quality, 0 to 1, or whether the final answer is the
// ground truth.
func qualityOf(r *reward.Rollout, final string) (quality float64, problem string) {
	switch given := r.Meta("quality"); {
	case given.Kind == reward.Number && given.Number >= 0 && given.Number <= 1:
		return given.Number, ""
	case given.Kind != reward.Absent:
		return 0, "the metadata quality are no number of 0 to 1"
	case r.GroundTruth.Kind == reward.Absent || r.GroundTruth.Kind == reward.Null:
		return 0, "there is neither a quality nor a ground truth"
	}
	if strings.EqualFold(strings.TrimSpace(final), strings.TrimSpace(r.GroundTruth.Text)) {
		return 1, ""
	}
	return 0, ""
}
