package compare

import (
	"strings"

	"github.com/merit-rl/merit/sdk/answer/internal/syntax"
)

var synonyms = map[string]string{
	"true": "yes", "correct": "yes", "false": "no", "incorrect": "no", "none": "no solution", "no solutions": "no solution", "nosolution": "no solution",
	"no real solution": "no solution", "no real solutions": "no solution", "empty set": "no solution", "does not exist": "dne", "undefined": "dne",
	"all real numbers": "r", "infinitely many": "infinite", "infinity": "infinite", "infinitely many solutions": "infinite",
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

// words compares where a side is text.
func (j *Judge) words(g, a *syntax.Node) Result {
	if SameWords(source(g), source(a)) {
		return Equal
	}
	if none := &(syntax.Node{Kind: syntax.SetName, Name: "empty"}); Plain(source(g)) == "no solution" && isEmpty(a, none) || Plain(source(a)) == "no solution" && isEmpty(g, none) {
		return j.by("exact", 0)
	}
	return Different
}

func isEmpty(n, _ *syntax.Node) bool { return n.Kind == syntax.SetName && n.Name == "empty" }

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
