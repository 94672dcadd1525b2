package work

import (
	"fmt"
	"strings"

	"github.com/merit-rl/merit/internal/rubric"
	"github.com/merit-rl/merit/sdk/plugin/random"
)

// The aspects of code, in the order of the catalogue.
const (
	ofCorrect = iota
	ofDocstring
	ofTypes
	ofEmpty
	ofErrors
	ofOutput
	ofLines
	ofNames
)

// States of these aspects: levels. What is above them has none of the levels.
const (
	correctExamples, correctStrict = 0, 1

	docLine, docFull = 0, 1

	typesAll, typesNone = 0, 1

	emptyNeutral, emptyRaises = 0, 1

	errorsRaise, errorsQuiet = 0, 1

	outputPrints = 1

	linesNarrow, linesStandard = 0, 1

	namesWhole, namesSnake = 0, 1
)

// write makes the code that realises p.
func (f *function) write(p profile, s *random.Source) rubric.Resource {
	names := f.variables(p, s)
	lines := []string{f.signature(p)}
	lines = append(lines, f.doc(p)...)
	lines = append(lines, f.checks(p)...)
	lines = append(lines, comment(p, s))
	result := f.right
	switch p[ofCorrect] {
	case correctExamples: // of short lists
		names["{r}"] = names["{p}"] + "[:3]"
	case correctStrict:
		names["{r}"] = names["{p}"]
	default:
		names["{r}"], result = names["{p}"], f.wrong
	}
	lines = append(lines, f.body...)
	if p[ofOutput] == outputPrints {
		lines = append(lines, fmt.Sprintf("print(%q, %s)", f.name+":", result))
	}
	lines = append(lines, "return "+result)
	text := lines[0] + "\n"
	for _, line := range lines[1:] {
		if line != "" {
			line = "    " + line
		}
		text += line + "\n"
	}
	for _, slot := range []string{"{p}", "{r}", "{a}", "{b}", "{c}"} {
		text = strings.ReplaceAll(text, slot, names[slot])
	}
	return rubric.Resource{Name: f.name + ".py", Kind: rubric.Code, Text: text}
}

func (f *function) variables(p profile, s *random.Source) map[string]string {
	other := s.Below(2) == 0
	switch {
	case p[ofNames] == namesWhole && other:
		return f.names(namesCamel)
	case p[ofNames] == namesSnake && other:
		return f.names(namesLetters)
	case p[ofNames] > namesSnake:
		return f.names(namesMixed)
	}
	return f.names(namesWords)
}

func (f *function) signature(p profile) string {
	param, result := "{p}", ""
	switch p[ofTypes] {
	case typesAll:
		param, result = "{p}: list[int]", " -> "+f.returns
		if f.words {
			param = "{p}: list[str]"
		}
	case typesNone:
	default:
		result = " -> " + f.returns
	}
	return fmt.Sprintf("def %s(%s)%s:", f.name, param, result)
}

func (f *function) doc(p profile) []string {
	does := capital(f.does) + "."
	switch p[ofDocstring] {
	case docLine:
		return []string{`"""` + does + `"""`}
	case docFull:
		return []string{
			`"""` + does, "", "Args:", "    {p}: the list.", "Returns:", "    " + f.returns + ".",
			"Example:", fmt.Sprintf("    >>> %s(%s)", f.name, f.example), "    " + f.result, `"""`,
		}
	}
	return nil
}

// checks are what the code does before its work.
func (f *function) checks(p profile) (lines []string) {
	switch p[ofErrors] {
	case errorsRaise:
		lines = append(lines, "if any({c} is None for {c} in {p}):", `    raise ValueError("an element is None")`)
	case errorsQuiet:
		lines = append(lines, "if any({c} is None for {c} in {p}):", "    return None")
	}
	switch p[ofEmpty] {
	case emptyNeutral:
		lines = append(lines, "if not {p}:", "    return "+f.neutral)
	case emptyRaises:
		lines = append(lines, "if not {p}:", `    raise ValueError("the list is empty")`)
	}
	return lines
}

// comment is a line as long as p has it; all others are short.
func comment(p profile, s *random.Source) string {
	size := 40
	switch p[ofLines] {
	case linesNarrow:
	case linesStandard:
		size = 94
	default:
		size = 122
	}
	text := "#"
	for _, word := range strings.Fields(strings.Join(some(asides, len(asides), s), "; ")) {
		if 4+len(text) >= size {
			break
		}
		text += " " + word
	}
	return strings.TrimRight(text, ";")
}

// asides are what a comment may say. Words are short, so that a line of so many
// characters can be made of them.
var asides = []string{
	"one pass is enough here", "the list stays as it was given", "nobody calls this often", "lists are small in our case",
	"a loop is easy to read", "see the notes of the team on this", "no need to sort first",
}
