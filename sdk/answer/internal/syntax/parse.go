package syntax

import (
	"errors"
	"strings"
)

// Bounds of one parse, so that no text is slow or deep.
const (
	MostBytes = 4096
	mostDepth = 60
	mostNodes = 3000
)

// ErrLong is the error of a text of more than MostBytes or of a tree past its bounds.
var ErrLong = errors.New("the expression is too long")

// Options say how to read what is ambiguous.
type Options struct {
	Commas   bool // a comma between digits separates elements: [-36,104]
	Joined   bool // a comma between digits is a decimal comma: 1,22
	Fraction bool // 1/2x is (1/2)x instead of 1/(2x)
	Units    bool // a letter such as m after a number is a unit
}

// Traits tell which options would have changed the reading.
type Traits struct{ Joined, Commas, Fraction, Units bool }

type parser struct {
	lexer
	opt    Options
	traits Traits
	tok    token
	err    error
	depth  int
	nodes  int
	bars   int   // open |
	turned int   // open ] at the left of an interval
	such   int   // open sets, where : and | separate a condition
	seen   *Unit // the last unit in the value that is read
	many   bool  // it has several
}

// Parse reads s. The traits tell whether other options would read it otherwise.
func Parse(s string, opt Options) (*Node, Traits, error) {
	if len(s) > MostBytes {
		return nil, Traits{}, ErrLong
	}
	p := &parser{opt: opt}
	p.src, p.commas, p.joined = trim(s), opt.Commas, opt.Joined
	p.matrix = strings.Contains(s, "matrix") || strings.Contains(s, "{array}") || strings.Contains(s, "cases}")
	p.advance()
	n := p.list()
	if p.tok.kind != tEnd {
		p.fail("does not understand " + quote(p.src[min(p.tok.start, len(p.src)):]))
	}
	p.traits.Commas = p.sawSep && strings.ContainsAny(p.src, "([{")
	p.traits.Joined = n.Kind == List && len(n.Args) == 2 && strings.Trim(p.src, "-0123456789") == ","
	if p.err != nil {
		return nil, p.traits, p.err
	}
	n.Text = p.src
	return n, p.traits, nil
}

func quote(s string) string {
	if len(s) > 40 {
		s = s[:40] + "…"
	}
	return "'" + strings.ToValidUTF8(s, "?") + "'"
}

// trim drops punctuation around an expression.
func trim(s string) string {
	s = strings.TrimSpace(s)
	for s != "" {
		t := strings.TrimRight(s, " .,;:\n\t")
		if strings.HasPrefix(s[len(t):], "...") && t != "" && isDigit(t[len(t)-1]) {
			return t + "..."
		}
		t = strings.TrimSuffix(t, `\`)
		if t == s {
			break
		}
		s = t
	}
	return s
}

func (p *parser) fail(why string) {
	if p.err == nil {
		p.err = errors.New(why)
	}
	p.pos, p.tok = len(p.src), token{start: len(p.src)}
}

func (p *parser) advance() { p.tok = p.next() }

func (p *parser) is(text string) bool { return p.tok.kind == tSym && p.tok.text == text }

func (p *parser) cmd(text string) bool { return p.tok.kind == tCmd && p.tok.text == text }

// enter counts depth and nodes; it is false past the bounds.
func (p *parser) enter() bool {
	p.depth++
	p.nodes++
	if p.depth > mostDepth || p.nodes > mostNodes {
		if p.err == nil {
			p.err = ErrLong
		}
		p.fail("")
		return false
	}
	return p.err == nil
}

func (p *parser) leave() { p.depth-- }
