package answer

import (
	"strings"

	"github.com/merit-rl/merit/sdk/answer/internal/compare"
	"github.com/merit-rl/merit/sdk/answer/internal/extract"
	"github.com/merit-rl/merit/sdk/answer/internal/syntax"
)

// Outcome is what Check decided.
type Outcome uint8

const (
	// Unknown: the gold or the answer could not be read or compared.
	Unknown Outcome = iota
	// Equal: the answer states the gold.
	Equal
	// Different: it does not, or there is no answer in the text.
	Different
)

// String is the outcome in lower case: equal, different, unknown.
func (o Outcome) String() string {
	return [...]string{"unknown", "equal", "different"}[min(o, Different)]
}

// Verdict is a decision and what it is based on.
type Verdict struct {
	Outcome Outcome
	// Way is the weakest way that the decision needed: "text", "choice", "number",
	// "exact", "modular" or "numeric". For Unknown it is what was not understood.
	Way string
	// Gold and Answer are the passages that were compared.
	Gold, Answer string
	// Error bounds the probability that Equal is wrong: 0 for the exact ways.
	Error float64
}

// Check decides whether text, a model's answer or whole reply, states gold, a bare
// answer or a solution with one.
func Check(gold, text string) Verdict {
	if letter, ok := extract.Choice(gold); ok {
		if v, ok := choice(letter, text); ok {
			return v
		}
	}
	if v, ok := letters(gold, text); ok {
		return v
	}
	g := readGold(gold)
	c := check{gold: g, raw: bare(gold), verdict: Verdict{Outcome: Different, Way: "no answer was found", Gold: g.text}}
	if whole, ok := extract.Whole(text); ok && !c.candidate(extract.Candidate{Text: whole, Math: true}) {
		return c.verdict
	}
	extract.Each(text, c.candidate)
	return c.verdict
}

// choice compares letters of a multiple choice.
func choice(letter byte, text string) (Verdict, bool) {
	got, passage, ok := extract.ChoiceIn(text)
	if !ok {
		return Verdict{}, false
	}
	v := Verdict{Outcome: Different, Way: "choice", Gold: string(letter), Answer: passage}
	if got == letter {
		v.Outcome = Equal
	}
	return v, true
}

// letters compares a gold of several letters of a multiple choice: A, C and AC.
func letters(gold, text string) (Verdict, bool) {
	want, ok := extract.Letters(gold)
	if !ok {
		return Verdict{}, false
	}
	v := Verdict{Outcome: Different, Way: "choice", Gold: gold}
	found := false
	extract.Each(text, func(c extract.Candidate) bool {
		got, ok := extract.Letters(c.Text)
		if found = ok; ok && got == want {
			v.Outcome = Equal
		}
		v.Answer = c.Text
		return false
	})
	return v, found
}

// reading is a passage and its tree; word is set if it is not mathematics.
type reading struct {
	text   string
	node   *syntax.Node
	traits syntax.Traits
	word   bool
	err    error
}

// readGold reads the gold: whole if it is nothing but an answer, else the first
// passage that extraction finds in it.
func readGold(gold string) reading {
	if whole, ok := extract.Whole(gold); ok {
		r := read(extract.Candidate{Text: whole})
		if end := strings.LastIndexByte(whole, '='); r.err != nil && end >= 0 {
			if last := read(extract.Candidate{Text: whole[end+1:]}); !last.word {
				return last
			}
		}
		if !r.word || strings.IndexByte(whole, '\\') >= 0 {
			return r
		}
	}
	var first reading
	found := false
	extract.Each(gold, func(c extract.Candidate) bool {
		r := read(c)
		if !found || first.word && !r.word {
			first, found = r, true
		}
		return first.word
	})
	if !found {
		return read(extract.Candidate{Text: gold})
	}
	return first
}

func read(c extract.Candidate) reading {
	r := reading{text: c.Text}
	if n := syntax.Numeral(c.Text); n != nil {
		r.node = n
	} else if n := syntax.Calendar(c.Text); n != nil {
		r.node = n
	} else if n := syntax.BaseNumeral(c.Text); n != nil {
		r.node = n
	} else if syntax.Prose(c.Text) {
		r.node, r.word = &syntax.Node{Kind: syntax.Word, Text: c.Text}, true
	} else if r.node, r.traits, r.err = syntax.Parse(c.Text, syntax.Options{}); r.err != nil {
		r.node, r.word = &syntax.Node{Kind: syntax.Word, Text: c.Text}, true
	}
	if c.Percent && !r.word {
		r.node = &syntax.Node{Kind: syntax.Call, Name: "percent", Args: []*syntax.Node{r.node}}
	}
	return r
}

// others are further readings of an ambiguous passage.
func (r reading) others() []*syntax.Node {
	var nodes []*syntax.Node
	for _, opt := range r.traits.Others() {
		if n, _, err := syntax.Parse(r.text, opt); err == nil {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// bare is a text without spaces and dollars around it.
func bare(s string) string { return strings.Trim(s, " $\n") }

// check compares candidates with the gold until one is mathematics.
type check struct {
	gold    reading
	raw     string // the gold as it was given
	verdict Verdict
	read    bool
}

// candidate compares one candidate; it tells whether to try the next.
func (c *check) candidate(p extract.Candidate) bool {
	if bare(p.Text) == c.raw {
		c.verdict = Verdict{Outcome: Equal, Way: "text", Gold: c.raw, Answer: p.Text}
		return false
	}
	a := read(p)
	v := c.compare(a)
	if v.Outcome == Equal || !c.read {
		c.verdict = v
	}
	c.read = true
	return v.Outcome != Equal && a.word && (p.Boxes == 0 || a.err == nil || syntax.Prose(p.Text))
}

func (c *check) compare(a reading) Verdict {
	v := Verdict{Outcome: Different, Gold: c.gold.text, Answer: a.text}
	golds, answers := []*syntax.Node{c.gold.node}, []*syntax.Node{a.node}
	j := compare.New()
	result := j.Compare(c.gold.node, a.node)
	if result != compare.Equal {
		golds, answers = append(golds, c.gold.others()...), append(answers, a.others()...)
		for i := 1; i < len(golds)*len(answers) && result != compare.Equal; i++ {
			j = compare.New()
			result = max(result, j.Compare(golds[i/len(answers)], answers[i%len(answers)]))
		}
	}
	v.Way, v.Error = j.Way, j.Error
	switch {
	case result == compare.Equal:
		v.Outcome = Equal
	case result == compare.Unknown:
		v.Outcome, v.Way = Unknown, j.Missing
	case c.gold.err != nil:
		v.Outcome, v.Way = Unknown, "the gold: "+c.gold.err.Error()
	case a.err != nil && !c.gold.word:
		v.Outcome, v.Way = Unknown, "the answer: "+a.err.Error()
	}
	if v.Outcome != Equal {
		v.Error = 0
	}
	return v
}
