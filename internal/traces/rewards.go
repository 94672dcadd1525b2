package traces

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// identity is what reward spans record about the reward that wrote them.
type identity struct {
	name, digest, id string
}

// identify names a reward or a composition of several. The digest and id depend
// on everything that decides the score.
func identify(parts []reward.Weighted) identity {
	var who identity
	var names []string
	sum := sha256.New()
	for _, part := range parts {
		info := part.Scorer.Info()
		names = append(names, cmp.Or(part.Name, info.Name))
		fmt.Fprintf(sum, "%q %q %q %q %v\n", names[len(names)-1], info.Digest, info.Function, info.With, part.Weight)
		who.digest = info.Digest
	}
	digest := sum.Sum(nil)
	if len(parts) != 1 || len(parts[0].Scorer.Info().With) > 0 {
		who.digest = "sha256:" + hex.EncodeToString(digest)
	}
	who.name = strings.Join(names, "+")
	who.name = who.name[:min(len(who.name), 128)]
	who.id = "reward-" + hex.EncodeToString(digest[:8])
	return who
}

// spans returns the reward spans for evaluation e of a trace: one for the whole
// trace, and one for each span with a step output. Step outputs for messages that
// no call of the trace wrote are only in the result of the whole trace.
func (who identity) spans(t *trace.Trace, told *rl.Trajectory, e reward.Evaluation, rule reward.StepIndexing, now time.Time) (all []trace.Span) {
	result := e.Result
	if e.Outcome != reward.Scored {
		result = rl.EvaluateResult{IsScoreValid: false, Reason: cmp.Or(e.Reason, e.Result.Reason), Error: e.Result.Error}
	}
	whole := who.span(t.ID, "", now, &trace.Reward{Outcome: string(e.Outcome), Result: &result})
	spans := []trace.Span{whole}
	defer func() { all = who.withdraw(t, all, now) }()
	if e.Outcome != reward.Scored {
		return spans
	}
	whole.Reward.Score = new(e.Result.Score)
	places := placesOf(told, rule)
	for _, output := range e.Result.StepOutputs {
		step, ok := places[int(output.StepIndex)]
		if !ok {
			continue
		}
		var of, agent string
		_ = strictjson.Unmarshal(told.Steps[step].Info["span"], &of) // Trajectory wrote both
		_ = strictjson.Unmarshal(told.Steps[step].Info["agent"], &agent)
		part := &trace.Reward{Of: of, Outcome: string(reward.Scored), Score: new(output.BaseReward)}
		if output.Reason != "" || len(output.Metrics) > 0 {
			part.Result = &rl.EvaluateResult{Score: output.BaseReward, IsScoreValid: true, Reason: output.Reason, Metrics: output.Metrics}
		}
		s := who.span(t.ID, fmt.Sprintf("-%04d", step), now, part)
		s.Agent = agent
		spans = append(spans, s)
	}
	return spans
}

// withdraw appends to spans, for each span that this reward scored earlier but no
// longer scores because the trace has changed, a reward span without a score.
func (who identity) withdraw(t *trace.Trace, spans []trace.Span, now time.Time) []trace.Span {
	given := map[string]bool{}
	for i := range spans {
		given[spans[i].ID] = true
	}
	for i := range t.All {
		s := &t.All[i]
		if s.Kind != trace.KindReward || given[s.ID] || !strings.HasPrefix(s.ID, who.id+"-") {
			continue
		}
		gone := &trace.Reward{Of: s.Reward.Of, Outcome: string(reward.Invalid), Result: &rl.EvaluateResult{Reason: "the trace has changed, and this span no longer has a reward"}}
		withdrawn := who.span(t.ID, strings.TrimPrefix(s.ID, who.id), now, gone)
		withdrawn.Agent = s.Agent
		spans = append(spans, withdrawn)
	}
	return spans
}

func (who identity) span(of, suffix string, now time.Time, r *trace.Reward) trace.Span {
	r.Digest = who.digest
	return trace.Span{Trace: of, ID: who.id + suffix, Kind: trace.KindReward, Name: who.name, Start: now, End: now, Status: trace.StatusOK, Reward: r}
}

// placesOf maps the index that a reward gives a step to the step's position.
func placesOf(told *rl.Trajectory, rule reward.StepIndexing) map[int]int {
	index := map[int]int{}
	assistant := told.AssistantIndex(nil)
	for i := range told.Steps {
		at := told.Steps[i].MessageCount
		if rule != reward.ByMessage {
			index[int(assistant[at])] = i
		} else {
			index[at] = i
		}
	}
	return index
}

// fresh reports whether spans contain anything that the trace does not have yet.
func fresh(t *trace.Trace, spans []trace.Span) bool {
	there := make(map[string]*trace.Span)
	for i := range t.All {
		if t.All[i].Kind == trace.KindReward {
			there[t.All[i].ID] = &t.All[i]
		}
	}
	for i := range spans {
		before := there[spans[i].ID]
		if before == nil || !same(before, &spans[i]) {
			return true
		}
	}
	return false
}

// same reports whether two reward spans agree in everything except time.
func same(a, b *trace.Span) bool {
	plain := func(s *trace.Span) any {
		text, err := json.Marshal(s.Reward)
		if err != nil {
			return err // not finite: checked before
		}
		return []string{s.Agent, s.Name, string(text)}
	}
	return reflect.DeepEqual(plain(a), plain(b))
}
