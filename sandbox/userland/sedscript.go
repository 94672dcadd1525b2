package main

import (
	"os"
	"strconv"
	"strings"
)

// sedScript is a program of sed that is being read.
type sedScript struct {
	*editor
	text   string
	blocks []int
	labels map[string]int
}

func (e *editor) parseScript(text string) {
	s := &sedScript{editor: e, text: text, labels: map[string]int{}}
	for s.skip(" \t\n;"); s.text != ""; s.skip(" \t\n;") {
		s.instruction()
	}
	if len(s.blocks) > 0 {
		s.bad("unmatched `{'")
	}
	for _, i := range e.program {
		if strings.IndexByte("btT", i.name) < 0 {
			continue
		}
		at, ok := s.labels[i.text]
		switch {
		case i.text == "":
			at = len(e.program)
		case !ok:
			s.bad("can't find label for jump to `" + i.text + "'")
		}
		i.jump = at
	}
}

func (s *sedScript) bad(what string) {
	s.fail("-e expression #1, char %d: %s", 0, what)
	panic(exit(1))
}

func (s *sedScript) skip(set string) { s.text = strings.TrimLeft(s.text, set) }

func (s *sedScript) take() byte {
	if s.text == "" {
		return 0
	}
	b := s.text[0]
	s.text = s.text[1:]
	return b
}

func (s *sedScript) number() (n int, ok bool) {
	end := 0
	for end < len(s.text) && s.text[end] >= '0' && s.text[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(s.text[:end])
	s.text = s.text[end:]
	return n, err == nil
}

// address reads an address, or nil.
func (s *sedScript) address() *address {
	a := &address{line: -1, step: -1}
	if n, ok := s.number(); ok {
		a.line, a.zero = n, n == 0
		if strings.HasPrefix(s.text, "~") {
			s.take()
			a.step, _ = s.number()
			if a.step == 0 {
				a.step = -1
			}
		}
		return a
	}
	switch {
	case strings.HasPrefix(s.text, "$"):
		s.take()
		a.last = true
		return a
	case strings.HasPrefix(s.text, "/"), strings.HasPrefix(s.text, `\`) && len(s.text) > 1:
		if s.take() == '\\' {
			a.match = s.regex(s.take())
		} else {
			a.match = s.regex('/')
		}
		return a
	}
	return nil
}

// regex reads a pattern up to its delimiter and its flags.
func (s *sedScript) regex(delimiter byte) matcher {
	text := s.until(delimiter, true)
	p := pattern{dialect: basic, dotAll: true}
	for s.text != "" && (s.text[0] == 'I' || s.text[0] == 'M') {
		if s.take() == 'I' {
			p.fold = true
		} else {
			p.multiline = true
		}
	}
	return s.compiled(text, p)
}

func (s *sedScript) compiled(text string, p pattern) matcher {
	if text == "" {
		return sameAgain{}
	}
	if s.loose {
		p.dialect = extended
	}
	m, err := p.compile(text)
	if err != nil {
		s.bad(err.Error())
	}
	return m
}

// until reads up to a delimiter, which a backslash escapes.
func (s *sedScript) until(delimiter byte, pattern bool) string {
	var b strings.Builder
	inside := false
	for k := 0; k < len(s.text); k++ {
		c := s.text[k]
		switch {
		case c == '\\' && k+1 < len(s.text) && !inside:
			k++
			switch {
			case s.text[k] == delimiter && (!pattern || strings.IndexByte("|+?(){}.*[]^$", delimiter) < 0):
				b.WriteByte(delimiter)
			case pattern && strings.IndexByte("xod", s.text[k]) >= 0 && escapesByte(s.text[k:]):
				size, v, _ := numbered(s.text[k:])
				if strings.IndexByte("^$.*[]\\/", v) >= 0 {
					b.WriteByte('\\')
				}
				b.WriteByte(v)
				k += size - 1
			case s.text[k] == '\n' && !pattern:
				b.WriteString("\\n")
			default:
				b.WriteByte('\\')
				b.WriteByte(s.text[k])
			}
			continue
		case pattern && c == '[' && !inside:
			inside = true
			b.WriteByte(c)
			for _, prefix := range []string{"^", "]"} {
				if strings.HasPrefix(s.text[k+1:], prefix) {
					b.WriteString(prefix)
					k++
				}
			}
			continue
		case inside && c == '[' && k+1 < len(s.text) && s.text[k+1] == ':':
			if end := strings.Index(s.text[k:], ":]"); end > 0 {
				b.WriteString(s.text[k : k+end+2])
				k += end + 1
				continue
			}
		case inside && c == ']':
			inside = false
		case c == delimiter && !inside:
			s.text = s.text[k+1:]
			return b.String()
		}
		b.WriteByte(c)
	}
	s.bad("unterminated `s' command")
	return ""
}

func escapesByte(text string) bool {
	_, _, ok := numbered(text)
	return ok
}

func (s *sedScript) instruction() {
	i := &instruction{nth: 1}
	if i.from = s.address(); i.from != nil {
		if s.skip(" \t"); strings.HasPrefix(s.text, ",") {
			s.take()
			s.skip(" \t")
			if strings.HasPrefix(s.text, "+") {
				s.take()
				n, _ := s.number()
				i.to = &address{line: -1, step: -1, plus: n}
			} else if i.to = s.address(); i.to == nil {
				s.bad("unexpected `,'")
			}
		}
	}
	for s.skip(" \t"); strings.HasPrefix(s.text, "!"); s.skip(" \t") {
		s.take()
		i.not = !i.not
	}
	i.name = s.take()
	s.program = append(s.program, i)
	here := len(s.program) - 1
	switch i.name {
	case '{':
		s.blocks = append(s.blocks, here)
	case '}':
		if len(s.blocks) == 0 {
			s.bad("unexpected `}'")
		}
		open := s.blocks[len(s.blocks)-1]
		s.blocks = s.blocks[:len(s.blocks)-1]
		s.program[open].jump = here
	case '#':
		_, s.text, _ = strings.Cut(s.text, "\n")
		s.program = s.program[:here]
	case ':':
		s.labels[s.word("\n;")] = here
	case 'b', 't', 'T':
		i.text = s.word("\n;}")
	case 'a', 'i', 'c':
		i.text = s.block()
	case 'r', 'w':
		i.text = s.word("\n")
		if i.name == 'w' {
			s.output(i.text)
		}
	case 'q', 'Q', 'l', 'L':
		i.text = s.word("\n;}")
	case 's':
		s.substitution(i)
	case 'y':
		d := s.take()
		unescape := strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t")
		i.text, i.replace = unescape.Replace(s.until(d, false)), unescape.Replace(s.until(d, false))
		if len([]rune(i.text)) != len([]rune(i.replace)) {
			s.bad("strings for `y' command are different lengths")
		}
	case 'd', 'D', 'p', 'P', 'n', 'N', 'h', 'H', 'g', 'G', 'x', '=', 'z', 'F':
	case 0:
		s.bad("missing command")
	default:
		s.bad("unknown command: `" + string(i.name) + "'")
	}
}

// word reads up to one of the ends.
func (s *sedScript) word(ends string) string {
	s.skip(" \t")
	end := strings.IndexAny(s.text, ends)
	if end < 0 {
		end = len(s.text)
	}
	word := strings.TrimSpace(s.text[:end])
	s.text = s.text[end:]
	return word
}

// block reads the text of a, i and c: one line, or several after a backslash.
func (s *sedScript) block() string {
	s.skip(" \t")
	if strings.HasPrefix(s.text, "\\") {
		s.take()
		rest := strings.TrimLeft(s.text, " \t")
		if strings.HasPrefix(rest, "\n") {
			s.text = rest[1:]
		}
	}
	var b strings.Builder
	for k := 0; k < len(s.text); k++ {
		switch {
		case s.text[k] == '\\' && k+1 < len(s.text):
			k++
			if s.text[k] == 't' {
				b.WriteByte('\t')
			} else {
				b.WriteByte(s.text[k])
			}
			continue
		case s.text[k] == '\n':
			s.text = s.text[k+1:]
			return b.String()
		}
		b.WriteByte(s.text[k])
	}
	s.text = ""
	return b.String()
}

func (s *sedScript) output(name string) {
	if s.outputs[name] == nil && !strings.HasPrefix(name, "/dev/std") {
		f, err := os.Create(s.path(name))
		if err != nil {
			s.fail("couldn't open file %s: %s", name, err)
			panic(exit(4))
		}
		s.outputs[name] = f
	}
}

func (s *sedScript) substitution(i *instruction) {
	d := s.take()
	text := s.until(d, true)
	i.replace = s.until(d, false)
	p := pattern{dialect: basic, dotAll: true}
	for s.text != "" {
		switch b := s.text[0]; {
		case b == 'g':
			i.global = true
		case b == 'p':
			i.print = true
		case b == 'i' || b == 'I':
			p.fold = true
		case b == 'm' || b == 'M':
			p.multiline = true
		case b >= '1' && b <= '9':
			i.nth, _ = s.number()
			continue
		case b == 'w':
			s.take()
			i.write = s.word("\n")
			s.output(i.write)
			continue
		default:
			i.match = s.compiled(text, p)
			return
		}
		s.take()
	}
	i.match = s.compiled(text, p)
}
