package syntax

import (
	"strings"

	"github.com/merit-rl/merit/sdk/answer/internal/rat"
)

// Numeral is the node of what is only a number, the most frequent answer, without
// a parser: 42, -3, 1,234, 0.5, $18.00. It is nil for anything else.
func Numeral(s string) *Node {
	var unit *Unit
	if strings.HasPrefix(s, "$") && dollars(s, 0) {
		unit = currency('$')
	}
	if strings.HasSuffix(s, "...") {
		return nil
	}
	s = strings.TrimRight(strings.Trim(s, " $\n"), ".")
	minus := strings.HasPrefix(s, "-")
	if minus {
		s = s[1:]
	}
	n, point := int64(0), -1
	for i := range len(s) {
		c := s[i]
		switch {
		case isDigit(c) && i < 17:
			n = n*10 + int64(c-'0')
		case c == '.' && point < 0:
			point = i
		default:
			return numberWord(s)
		}
	}
	if s == "" || s == "." {
		return nil
	}
	if minus {
		n = -n
	}
	node := &Node{Kind: Number, Num: rat.Int(n), Text: s, Name: s, Unit: unit}
	if point >= 0 {
		node.Decimal, node.Num = true, rat.Int(n).Mul(rat.Ten(len(s)-point-1).Inv())
	}
	if minus {
		node.Text = "-" + s
	}
	return node
}

// BaseNumeral is the node of a numeral with letters: 2F_{16}; nil for anything else.
func BaseNumeral(s string) *Node {
	i := strings.LastIndexByte(s, '_')
	if i < 1 || len(s) > 60 {
		return nil
	}
	digits := strings.Trim(strings.NewReplacer(`\text`, "", `\mathrm`, "", `\mathtt`, "", "{", "", "}", "", " ", "", "$", "", "(", "", ")", "").Replace(s[:i]), " ")
	base, ok := decimal(strings.Trim(leadingDigits(strings.TrimLeft(s[i+1:], "{ ")), " ")).Int64()
	if !ok || base < 11 || base > 36 || strings.Trim(s[i+1:], "{}0123456789 $.") != "" || digits == "" || len(digits) > 24 {
		return nil
	}
	n := &Node{Kind: Number, Num: rat.Int(0), Base: int(base), Name: strings.ToUpper(digits)}
	for _, c := range n.Name {
		d := Digit(c)
		if d < 0 || d >= base {
			return nil
		}
		n.Num = n.Num.Mul(rat.Int(base)).Add(rat.Int(d))
	}
	return n
}

// Digit is the value of a digit of a numeral, up to Z, or -1.
func Digit(c rune) int64 {
	switch {
	case c >= '0' && c <= '9':
		return int64(c - '0')
	case c >= 'A' && c <= 'Z':
		return int64(c-'A') + 10
	}
	return -1
}

var numberWords = func() map[string]int64 {
	m := map[string]int64{}
	for i, w := range strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen") {
		m[w] = int64(i)
	}
	for i, w := range strings.Fields("twenty thirty forty fifty sixty seventy eighty ninety") {
		m[w] = int64(20 + 10*i)
	}
	return m
}()

// numberWord is the node of a number in words, or nil.
func numberWord(s string) *Node {
	if s == "" || !isLetter(s[0]) && s[0] != '\\' || len(s) > 40 {
		return nil
	}
	if in, ok := strings.CutPrefix(s, `\text{`); ok {
		s = strings.TrimSuffix(in, "}")
	}
	for i := range len(s) {
		if !isLetter(s[i]) && s[i] != ' ' && s[i] != '-' {
			return nil
		}
	}
	n, ok := inWords(Letters(s))
	if !ok {
		return nil
	}
	return &Node{Kind: Number, Num: rat.Int(n), Text: s, Name: s}
}

// inWords is the number that words state: two hundred and fifty-six, one million.
func inWords(s string) (total int64, ok bool) {
	part, last := int64(0), int64(1<<62)
	for _, w := range strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '-' }) {
		v, simple := numberWords[w]
		factor := find(w).factor
		switch {
		case w == "and" && ok:
			continue
		case simple && v < last && (last > 99 || last > 19 && v < 10):
			part, last = part+v, v
		case factor == 100 && part > 0 && part < 100 || factor == 100 && !ok:
			part, last = max(part, 1)*100, 100
		case factor >= 1000 && part < 1000 && (part > 0 || !ok):
			total, part, last = total+max(part, 1)*factor, 0, factor
		default:
			return 0, false
		}
		ok = true
	}
	return total + part, ok
}

// Others are the further options that would read a passage otherwise.
func (t Traits) Others() []Options {
	var all []Options
	if t.Joined {
		all = append(all, Options{Joined: true})
	}
	if t.Commas {
		all = append(all, Options{Commas: true})
	}
	if t.Fraction {
		all = append(all, Options{Fraction: true})
	}
	if t.Units {
		all = append(all, Options{Units: true})
	}
	return all
}
