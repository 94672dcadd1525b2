package main

import (
	"regexp"
	"strings"

	"github.com/dlclark/regexp2"
)

// matcher is a compiled pattern. find returns the indices of the leftmost match in text at or
// after from, and of its groups, as package regexp has them; nil if there is none.
type matcher interface {
	find(text string, from int) []int
	groups() int
}

// dialect is how a pattern is written.
type dialect int

const (
	basic    dialect = iota // of POSIX, with GNU's additions
	extended                // of POSIX, with GNU's additions
	perl
	fixed
)

// pattern are the parts of a pattern and how it matches.
type pattern struct {
	dialect           dialect
	fold              bool // upper and lower case are the same
	words, whole      bool // match only whole words, whole lines
	multiline, dotAll bool
}

// compile compiles a pattern.
func (p pattern) compile(text string) (matcher, error) {
	expression, back := text, false
	switch p.dialect {
	case fixed:
		expression = regexp.QuoteMeta(text)
	case basic, extended:
		expression, back = translate(text, p.dialect)
	}
	switch {
	case p.whole:
		expression = "^(?:" + expression + ")$"
	case p.words:
		expression = `\b(?:` + expression + `)\b`
	}
	flags := ""
	if p.fold {
		flags += "i"
	}
	if p.multiline {
		flags += "m"
	}
	if p.dotAll {
		flags += "s"
	}
	if flags != "" {
		expression = "(?" + flags + ")" + expression
	}
	if !back && p.dialect != perl {
		r, err := regexp.Compile(expression)
		if err != nil {
			return nil, err
		}
		r.Longest()
		return linear{r}, nil
	}
	if p.dialect == perl {
		if r, err := regexp.Compile(expression); err == nil {
			return linear{r}, nil
		}
	}
	r, err := regexp2.Compile(expression, regexp2.None)
	if err != nil {
		return nil, err
	}
	return backtracking{r}, nil
}

// linear matches in linear time.
type linear struct{ r *regexp.Regexp }

func (m linear) groups() int { return m.r.NumSubexp() }

func (m linear) find(text string, from int) []int {
	if from == 0 {
		return m.r.FindStringSubmatchIndex(text)
	}
	// Anchors and word boundaries must see what is before from.
	for _, found := range m.r.FindAllStringSubmatchIndex(text, -1) {
		if found[0] >= from {
			return found
		}
	}
	return nil
}

// backtracking matches patterns with references to groups.
type backtracking struct{ r *regexp2.Regexp }

func (m backtracking) groups() int { return len(m.r.GetGroupNumbers()) - 1 }

func (m backtracking) find(text string, from int) []int {
	runes := []rune(text)
	offsets := make([]int, 0, len(runes)+1)
	start := 0
	for i := range text {
		if i < from {
			start++
		}
		offsets = append(offsets, i)
	}
	offsets = append(offsets, len(text))
	found, err := m.r.FindRunesMatchStartingAt(runes, start)
	if err != nil || found == nil {
		return nil
	}
	var out []int
	for _, g := range found.Groups() {
		if len(g.Captures) == 0 {
			out = append(out, -1, -1)
			continue
		}
		out = append(out, offsets[g.Index], offsets[g.Index+g.Length])
	}
	return out
}

// all calls use with the matches in text, which do not overlap, until it returns false.
func all(m matcher, text string, use func(found []int) bool) {
	if l, ok := m.(linear); ok {
		for _, found := range l.r.FindAllStringSubmatchIndex(text, -1) {
			if !use(found) {
				return
			}
		}
		return
	}
	for at := 0; at <= len(text); {
		found := m.find(text, at)
		if found == nil || !use(found) {
			return
		}
		if at = found[1]; found[0] == found[1] {
			at++
		}
	}
}

// translate turns a basic or extended pattern of POSIX into one of Go, and reports whether it
// refers back to a group.
func translate(text string, d dialect) (out string, back bool) {
	t := translation{text: text, extended: d == extended, start: true}
	for t.text != "" {
		t.next()
	}
	return t.out.String(), t.back
}

type translation struct {
	text     string
	extended bool
	start    bool // nothing that could be repeated is before
	depth    int
	back     bool
	out      strings.Builder
}

func (t *translation) next() {
	b := t.text[0]
	t.text = t.text[1:]
	start := t.start
	t.start = false
	switch {
	case b == '\\' && t.text != "":
		b = t.text[0]
		t.text = t.text[1:]
		t.escaped(b)
	case b == '[':
		t.bracket()
	case b == '*' && start:
		t.out.WriteString(`\*`)
	case b == '^' && !t.extended && !start:
		t.out.WriteString(`\^`)
	case b == '^':
		t.out.WriteByte('^')
		t.start = true
	case b == '$' && !t.extended && t.text != "" && !strings.HasPrefix(t.text, `\)`) && !strings.HasPrefix(t.text, `\|`):
		t.out.WriteString(`\$`)
	case strings.IndexByte("(){}|+?", b) >= 0:
		if t.extended {
			t.special(b, start)
		} else {
			t.out.WriteString(`\` + string(b))
		}
	default:
		t.out.WriteByte(b)
	}
}

// special writes an operator.
func (t *translation) special(b byte, start bool) {
	switch {
	case b == ')' && t.depth == 0, b == '{' && (start || t.text == "" || t.text[0] < '0' || t.text[0] > '9') && !strings.HasPrefix(t.text, ","), (b == '+' || b == '?') && start:
		t.out.WriteString(`\` + string(b))
		return
	case b == '{' && strings.HasPrefix(t.text, ","):
		t.out.WriteString("{0")
		return
	case b == '}' && !strings.Contains(t.out.String()[strings.LastIndexByte(t.out.String(), '{')+1:]+"x", "x"):
	case b == '(':
		t.depth++
	case b == ')':
		t.depth--
	}
	t.start = b == '(' || b == '|'
	t.out.WriteByte(b)
}

func (t *translation) escaped(b byte) {
	switch {
	case strings.IndexByte("(){}|+?", b) >= 0 && !t.extended:
		t.special(b, false)
	case b >= '1' && b <= '9':
		t.back = true
		t.out.WriteString(`\` + string(b))
	case b == '<' || b == '>':
		t.out.WriteString(`\b`)
	case b == '`':
		t.out.WriteString(`\A`)
	case b == '\'':
		t.out.WriteString(`\z`)
	case strings.IndexByte("wWsSbBntfrv", b) >= 0:
		t.out.WriteString(`\` + string(b))
	case b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 128 || b == '/' || b == '"' || b == ' ' || b == '%' || b == '\n':
		t.out.WriteByte(b)
	default:
		t.out.WriteString(`\` + string(b))
	}
}

// bracket copies a bracket expression, whose backslashes stand for themselves.
func (t *translation) bracket() {
	t.out.WriteByte('[')
	first := true
	if strings.HasPrefix(t.text, "^") {
		t.out.WriteByte('^')
		t.text = t.text[1:]
	}
	for t.text != "" {
		b := t.text[0]
		switch {
		case b == ']' && !first:
			t.out.WriteByte(']')
			t.text = t.text[1:]
			return
		case strings.HasPrefix(t.text, "[:"):
			if end := strings.Index(t.text, ":]"); end > 0 {
				t.out.WriteString(t.text[:end+2])
				t.text, first = t.text[end+2:], false
				continue
			}
			t.out.WriteString(`\[`)
		case b == '[', b == ']', b == '^':
			t.out.WriteString(`\` + string(b))
		case b == '\\' && len(t.text) > 1 && strings.IndexByte("nt", t.text[1]) >= 0: // as GNU sed
			t.out.WriteString(t.text[:2])
			t.text = t.text[1:]
		case b == '\\' && len(t.text) > 1 && (t.text[1] == ']' || t.text[1] == '\\'):
			t.out.WriteString(`\\`)
		case b == '\\':
			t.out.WriteString(`\\`)
		default:
			t.out.WriteByte(b)
		}
		t.text, first = t.text[1:], false
	}
}
