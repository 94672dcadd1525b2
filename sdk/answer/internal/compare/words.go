package compare

import (
	"strings"

	"github.com/merit-rl/merit/sdk/answer/internal/syntax"
)

var synonyms = map[string]string{
	"true": "yes", "correct": "yes", "false": "no", "incorrect": "no", "none": "no solution", "no solutions": "no solution", "nosolution": "no solution",
	"no real solution": "no solution", "no real solutions": "no solution", "empty set": "no solution", "does not exist": "dne", "undefined": "dne",
	"all real numbers": "r", "infinitely many": "infinite", "infinity": "infinite", "infinitely many solutions": "infinite",
	"infty": "infinite", "inf": "infinite", "infinite solutions": "infinite", "infinite number of solutions": "infinite", "infinitely": "infinite", "an infinite number": "infinite",
	"impossible": "no solution", "neither even nor odd": "neither", "neither odd nor even": "neither",
}

var styles = strings.NewReplacer(`\text`, "", `\mathrm`, "", `\textbf`, "", `\mathbf`, "", `\left`, "", `\right`, "", `\quad`, " ", `\ `, " ", `\,`, "", "{", "", "}", "", "$", "", "*", "", "~", " ", `\`, "")

// Plain is a text as words are compared: lower case, without marks, articles and styles.
func Plain(s string) string {
	s = styles.Replace(s)
	s = strings.ToLower(strings.Trim(strings.Join(strings.Fields(s), " "), " .,;:!()\"'"))
	for _, article := range []string{"the ", "a ", "an "} {
		s = strings.TrimPrefix(s, article)
	}
	if w, ok := synonyms[s]; ok {
		return w
	}
	return s
}

// SameWords tells whether two texts have the same letters and digits.
func SameWords(a, b string) bool {
	a, b = Plain(a), Plain(b)
	return a != "" && (a == b || strings.ReplaceAll(a, " ", "") == strings.ReplaceAll(b, " ", ""))
}

// text tells that a node is a word that was read as a symbol: \text{no solution}.
func text(n *syntax.Node) bool {
	return n.Kind == syntax.Symbol && len(n.Name) > 2 && strings.IndexByte(n.Name, '_') < 0
}

// words compares where a side is text.
func (j *Judge) words(g, a *syntax.Node) Result {
	if SameWords(source(g), source(a)) {
		return Equal
	}
	if setOf(g) != "" && setOf(g) == setOf(a) {
		return j.by("exact", 0)
	}
	if stated(Plain(source(g)), Plain(source(a))) {
		return Equal
	}
	return Different
}

// stated tells that a sentence ends with a word after a verb or an article: The function
// is even. It will be Saturday.
func stated(word, sentence string) bool {
	before, ok := strings.CutSuffix(sentence, " "+word)
	if !ok || word == "" {
		return false
	}
	switch before[strings.LastIndexByte(before, ' ')+1:] {
	case "is", "are", "be", "was", "were", "on", "a", "an", "the":
		return !strings.Contains(before+" ", " not ") && !strings.Contains(before, "n't ")
	}
	return false
}

// setOf is the name of the set that a symbol or a phrase is: empty for "no
// solution", R for "all real numbers", or nothing.
func setOf(n *syntax.Node) string {
	if n.Kind == syntax.SetName {
		return n.Name
	}
	if n.Kind == syntax.Word || n.Kind == syntax.Symbol && len(n.Name) > 1 {
		return map[string]string{"no solution": "empty", "r": "R"}[Plain(source(n))]
	}
	return ""
}

func source(n *syntax.Node) string {
	switch {
	case n.Text != "":
		return n.Text
	case n.Kind == syntax.Product:
		s := ""
		for _, a := range n.Args {
			s += source(a)
		}
		return s
	}
	return n.Name
}
