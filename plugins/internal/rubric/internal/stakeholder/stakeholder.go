// Package stakeholder answers questions from a truth, by template or in the words of a
// language model. An answer tells one criterion, never shows rules or weights, and
// never recites the whole truth.
package stakeholder

import (
	"github.com/merit-rl/merit/internal/rubric/catalogue"
	"github.com/merit-rl/merit/internal/rubric/truth"
)

// Kind is the kind of an answer.
type Kind int

// The kinds of answers.
const (
	Told     Kind = iota // it tells one criterion
	Careless             // the stakeholder does not care about that
	Nothing              // everything was told before
	Unclear              // the stakeholder does not understand the question
	Refused              // the question asks for the whole rubric
)

// Answer is the stakeholder's answer to one question.
type Answer struct {
	Text string
	Kind Kind
	// Criterion is that of the truth which the answer tells of; -1 if it tells of
	// none.
	Criterion int
	// Aspect is that of the catalogue which the question is about; "" if it is
	// about none.
	Aspect string
}

// Talk is one conversation with a stakeholder.
type Talk struct {
	Truth *truth.Truth
	lists *catalogue.Catalogue
	told  []bool // by criterion
}

// New begins a conversation about t, whose aspects a catalogue lists.
func New(t *truth.Truth, lists *catalogue.Catalogue) *Talk {
	return &Talk{Truth: t, lists: lists, told: make([]bool, len(t.Criteria))}
}

// Told returns the criteria that were told, in the truth's order.
func (k *Talk) Told() (list []int) {
	for i, told := range k.told {
		if told {
			list = append(list, i)
		}
	}
	return list
}

// Count returns how many criteria were told.
func (k *Talk) Count() int { return len(k.Told()) }

// Note records that a criterion was told.
func (k *Talk) Note(criterion int) {
	if criterion >= 0 {
		k.told[criterion] = true
	}
}

// Next answers what matters most, and what else does, with the heaviest criterion that was
// not told yet, the first of equals.
func (k *Talk) Next() Answer {
	best := -1
	for i, c := range k.Truth.Criteria {
		if !k.told[i] && (best < 0 || c.Weight > k.Truth.Criteria[best].Weight) {
			best = i
		}
	}
	if best < 0 {
		return Answer{Text: "There is nothing else. That was all.", Kind: Nothing, Criterion: -1}
	}
	return k.tell(best)
}

// About answers a question about an aspect of the catalogue.
func (k *Talk) About(aspect string) Answer {
	i := k.Truth.About(aspect)
	if i < 0 {
		return Answer{Text: "I do not care about that.", Kind: Careless, Criterion: -1, Aspect: aspect}
	}
	return k.tell(i)
}

// importances are the words of the stakeholder for a weight; see Truth.Importance.
var importances = [truth.MostImportance + 1]string{"", "That matters a little.", "That matters.", "That matters a great deal."}

func (k *Talk) tell(i int) Answer {
	c := &k.Truth.Criteria[i]
	return Answer{Text: c.Answer + " " + importances[k.Truth.Importance(i)], Kind: Told, Criterion: i, Aspect: c.Aspect}
}
