package action

import (
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/rl"
)

// choose looks for names of actions in text, from left to right, none inside of
// another.
func (p *Parser) choose(text string) (rl.Action, string) {
	t := taken[int32]{rule: p.cfg.Take}
	whole := p.cfg.WholeWords
	for i, more := 0, true; more && i < len(text); {
		a, end := int32(-1), 0
		if p.names.first[text[i]] && !(whole && insideWord(text, i)) {
			a, end = p.names.at(text, i, whole)
		}
		if a < 0 {
			i++
			continue
		}
		_, more = t.add(a)
		i = end
	}
	switch t.n {
	case 0:
		return rl.Action{}, fmt.Sprintf("The answer names no action: answer with one of %s.", p.allowed)
	case 1:
		return p.names.action(t.found), ""
	}
	return rl.Action{}, fmt.Sprintf("The answer names both %s and %s: answer with exactly one of %s.",
		clip(p.names.list[t.found], maxQuote), clip(p.names.list[t.other], maxQuote), p.allowed)
}

// insideWord reports whether a position in text is inside a word.
func insideWord(text string, place int) bool {
	before, size := utf8.DecodeLastRuneInString(text[:place])
	after, wide := utf8.DecodeRuneInString(text[place:])
	switch left, right := inWord(before), inWord(after); {
	case left && right:
		return true
	case left:
		next, _ := utf8.DecodeRuneInString(text[place+wide:])
		return joins(before, after, next)
	case right:
		last, _ := utf8.DecodeLastRuneInString(text[:place-size])
		return joins(last, before, after)
	}
	return false
}

// joins reports whether r makes one word of what is on both sides of it, as in
// I'd and 1.5.
func joins(left, r, right rune) bool {
	switch r {
	case '\'', '\u2019':
		return unicode.IsLetter(left) && unicode.IsLetter(right)
	case '.':
		return unicode.IsDigit(left) && unicode.IsDigit(right)
	}
	return false
}

func inWord(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_'
	}
	return (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)) && !unicode.In(r, spaceless...)
}

// spaceless are the scripts that write no space between words.
var spaceless = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}
