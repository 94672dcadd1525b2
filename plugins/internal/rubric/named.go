package rubric

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/rubric"
	"github.com/merit-rl/merit/internal/rubric/catalogue"
)

const promptNames = `Find out what a stakeholder wants, then write a rubric for the work. Answer with one JSON object only.
Ask (1 to %d questions at a time, %d in all%s): {"ask": ["What matters most?", "What else?"]}
Then name criteria, with weights from 1 to 3: {"rubric": {"length: short": 3, "tone: warm": 1}}`

// named reads a rubric that names criteria of the catalogue, with their weights:
// {"rubric": {"length: short": 3}}. The rules are those of the catalogue, in its order.
func named(text string, aspects []catalogue.Aspect) (*rubric.Rubric, []string) {
	raw, ok := envelope(text)["rubric"]
	if !ok {
		return nil, []string{`there is no JSON object with the key "ask" or "rubric".`}
	}
	var weights map[string]float64
	if err := strictjson.Unmarshal(raw, &weights); err != nil {
		return nil, []string{`"rubric" must be an object of names and weights, such as {"` + name(aspects[0], 0) + `": 3}: ` + err.Error()}
	}
	r, problems := pick(weights, aspects)
	if len(r.Criteria) == 0 && len(problems) == 0 {
		problems = []string{"the rubric is empty: name at least one criterion."}
	}
	if problems != nil {
		return nil, problems
	}
	scale(r)
	return r, nil
}

// pick returns the criteria with a weight. Problems are in the order of their names.
func pick(weights map[string]float64, aspects []catalogue.Aspect) (*rubric.Rubric, []string) {
	r, problems, known := &rubric.Rubric{Name: "written"}, []string(nil), names(aspects)
	for i := range aspects {
		n := len(r.Criteria)
		for j, l := range aspects[i].Levels {
			if w, ok := weights[name(aspects[i], j)]; ok {
				r.Criteria = append(r.Criteria, rubric.Criterion{Name: name(aspects[i], j), Description: l.Description, Weight: w, Rule: l.Rule()})
			}
		}
		if len(r.Criteria) > n+1 {
			problems = append(problems, fmt.Sprintf("%q and %q exclude each other: choose one.", r.Criteria[n].Name, r.Criteria[n+1].Name))
		}
	}
	for k, w := range weights {
		switch {
		case !slices.Contains(known, k):
			problems = append(problems, fmt.Sprintf("%q is not one of the criteria%s", k, near(k, known)))
		case !(w > 0) || math.IsInf(w, 1):
			problems = append(problems, fmt.Sprintf("the weight of %q must be above 0, not %v.", k, w))
		}
	}
	slices.Sort(problems)
	return r, problems
}

func near(word string, known []string) string {
	if k := fault.Nearest(word, known); k != "" {
		return fmt.Sprintf(": did you mean %q?", k)
	}
	return "."
}

// scale makes weights sum to 1, also those whose sum is not finite.
func scale(r *rubric.Rubric) {
	most, sum := 0.0, 0.0
	for _, c := range r.Criteria {
		most = max(most, c.Weight)
	}
	for _, c := range r.Criteria {
		sum += c.Weight / most
	}
	for i := range r.Criteria {
		r.Criteria[i].Weight = r.Criteria[i].Weight / most / sum
	}
}

// name returns what a rubric calls a level of an aspect.
func name(a catalogue.Aspect, level int) string { return a.Name + ": " + a.Levels[level].Name }

// names returns the names of all levels of all aspects.
func names(aspects []catalogue.Aspect) (all []string) {
	for _, a := range aspects {
		for j := range a.Levels {
			all = append(all, name(a, j))
		}
	}
	return all
}

// infoTold is the name under which the last step of an episode has what the stakeholder told, for
// people who make demonstrations: a policy never sees it.
const infoTold = "told"

// heardCriterion is a criterion that the stakeholder told.
type heardCriterion struct {
	Answer string `json:"answer"`
	Name   string `json:"name"`   // of the catalogue; empty if that does not cover the criterion
	Weight int    `json:"weight"` // 1 to 3
}

// told returns the criteria that the stakeholder told, in the truth's order.
func (s *writer) told() []heardCriterion {
	list := []heardCriterion{}
	for _, i := range s.talk.Told() {
		c := &s.start.truth.Criteria[i]
		t := heardCriterion{Answer: c.Answer, Weight: s.start.truth.Importance(i)}
		if _, _, ok := s.env.source.lists.Find(s.start.truth.Domain, c.Aspect, c.Level); ok {
			t.Name = c.Aspect + ": " + c.Level
		}
		list = append(list, t)
	}
	return list
}

// offer says which names a rubric may have.
func offer(aspects []catalogue.Aspect) string {
	list := make([]string, len(aspects))
	for i, a := range aspects {
		levels := make([]string, len(a.Levels))
		for j, l := range a.Levels {
			levels[j] = l.Name
		}
		list[i] = a.Name + ": " + strings.Join(levels, " | ")
	}
	return "Criteria: " + strings.Join(list, "; ") + "."
}
