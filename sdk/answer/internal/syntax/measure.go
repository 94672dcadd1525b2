package syntax

import (
	"strings"
	"unicode/utf8"

	"github.com/merit-rl/merit/sdk/answer/internal/rat"
)

// Unit is what a quantity is measured in: powers of the base units, how many of
// them one is, and a kind that tells currencies and scales of temperature apart.
type Unit struct {
	Dim   [6]int8 // meter, gram, second, ampere, mole, candela
	Kind  string
	Scale rat.Rat
}

var one = rat.Int(1)

// Convert is the factor from a unit to another; false if they measure different
// things. A value without a unit is in any.
func Convert(from, to *Unit) (rat.Rat, bool) {
	if from == nil || to == nil {
		return one, true
	}
	if from.Dim != to.Dim || from.Kind != to.Kind {
		return one, pounds(from, to) || pounds(to, from)
	}
	return from.Scale.Div(to.Scale), true
}

// pounds tells that the word for a mass may be the currency.
func pounds(u, money *Unit) bool {
	return u.Dim == mass && u.Kind == "" && u.Scale.Equal(rat.Frac(45359237, 100000)) && money.Kind == "£" && money.Scale.Equal(one)
}

// dims are powers of meter, gram, second, ampere.
func dims(m, g, s, a int8) [6]int8 { return [6]int8{m, g, s, a} }

var (
	length   = dims(1, 0, 0, 0)
	mass     = dims(0, 1, 0, 0)
	duration = dims(0, 0, 1, 0)
)

func of(d [6]int8, num, den int64) *Unit { return &Unit{Dim: d, Scale: rat.Frac(num, den)} }

func money(kind string, den int64) *Unit { return &Unit{Kind: kind, Scale: rat.Frac(1, den)} }

// currency is the unit of a sign, or nil.
func currency(sign rune) *Unit { return currencies[sign] }

var currencies = map[rune]*Unit{'$': money("$", 1), '€': money("€", 1), '£': money("£", 1), '¥': money("¥", 1), '₹': money("₹", 1), '¢': money("$", 100)}

// symbols are the units whose case matters and that take the prefixes of the SI.
var symbols = map[string]*Unit{
	"m": of(length, 1, 1), "g": of(mass, 1, 1), "s": of(duration, 1, 1), "A": of(dims(0, 0, 0, 1), 1, 1), "L": of(dims(3, 0, 0, 0), 1, 1000), "l": of(dims(3, 0, 0, 0), 1, 1000),
	"N": of(dims(1, 1, -2, 0), 1000, 1), "J": of(dims(2, 1, -2, 0), 1000, 1), "W": of(dims(2, 1, -3, 0), 1000, 1), "Pa": of(dims(-1, 1, -2, 0), 1000, 1),
	"V": of(dims(2, 1, -3, -1), 1000, 1), "Hz": of(dims(0, 0, -1, 0), 1, 1), "Ω": of(dims(2, 1, -3, -2), 1000, 1), "h": of(duration, 3600, 1), "Wh": of(dims(2, 1, -2, 0), 3600000, 1), "mol": {Dim: [6]int8{4: 1}, Scale: one},
	"C": of(dims(0, 0, 1, 1), 1, 1), "K": {Kind: "K", Scale: one}, "T": of(dims(0, 1, -2, -1), 1000, 1), "cal": of(dims(2, 1, -2, 0), 4184, 1), "eV": {Kind: "eV", Scale: one},
	"B": {Kind: "byte", Scale: one}, "bit": {Kind: "byte", Scale: rat.Frac(1, 8)},
}

var prefixes = map[string]rat.Rat{
	"k": rat.Int(1000), "M": rat.Int(1000_000), "G": rat.Int(1000_000_000), "T": rat.Ten(12), "h": rat.Int(100), "d": rat.Frac(1, 10), "c": rat.Frac(1, 100), "m": rat.Frac(1, 1000),
	"μ": rat.Frac(1, 1000_000), "µ": rat.Frac(1, 1000_000), "n": rat.Ten(9).Inv(), "p": rat.Ten(12).Inv(),
}

// plainUnits are words and abbreviations in lower case.
func plainUnits() map[string]*Unit {
	m := map[string]*Unit{}
	add := func(u *Unit, words string) {
		for _, w := range strings.Fields(words) {
			m[w] = u
			m[w+"s"] = u
		}
	}
	for prefix, factor := range map[string]rat.Rat{"": one, "kilo": rat.Int(1000), "centi": rat.Frac(1, 100), "milli": rat.Frac(1, 1000), "deci": rat.Frac(1, 10), "micro": rat.Frac(1, 1000_000), "nano": rat.Ten(9).Inv(), "mega": rat.Int(1000_000)} {
		for word, symbol := range map[string]string{"meter": "m", "metre": "m", "gram": "g", "liter": "L", "litre": "L", "watt": "W", "joule": "J", "newton": "N", "volt": "V", "amp": "A", "ampere": "A", "ohm": "Ω", "hertz": "Hz", "pascal": "Pa", "calorie": "cal", "mole": "mol", "coulomb": "C", "byte": "B", "tesla": "T"} {
			add(symbols[symbol].times(factor), prefix+word)
		}
	}
	for _, row := range []struct {
		unit  *Unit
		words string
	}{
		{of(length, 254, 10000), "inch in"},
		{of(length, 3048, 10000), "foot ft"},
		{of(length, 9144, 10000), "yard yd"},
		{of(length, 1609344, 1000), "mile mi"},
		{of(mass, 45359237, 100000), "pound"},
		{of(mass, 45359237, 100000), "lb"},
		{of(mass, 45359237, 1600000), "ounce oz"},
		{of(mass, 1000_000, 1), "tonne"},
		{of(mass, 1000_000, 1), "ton"},
		{of(duration, 1, 1), "second sec"},
		{of(duration, 60, 1), "minute min"},
		{of(duration, 3600, 1), "hour hr h"},
		{of(duration, 86400, 1), "day"},
		{of(duration, 7*86400, 1), "week"},
		{of(duration, 31556952, 12), "month"},
		{of(duration, 31556952, 1), "year yr"},
		{of(dims(1, 0, -1, 0), 1609344, 3600000), "mph"},
		{of(dims(1, 0, -1, 0), 1000, 3600), "kmh kph kmph"},
		{of(dims(2, 0, 0, 0), 40468564224, 10000000), "acre"},
		{of(dims(2, 0, 0, 0), 10000, 1), "hectare ha"},
		{of(dims(3, 0, 0, 0), 3785411784, 1000000000000), "gallon gal"},
		{of(dims(3, 0, 0, 0), 3785411784, 4000000000000), "quart"},
		{of(dims(3, 0, 0, 0), 3785411784, 8000000000000), "pint"},
		{money("$", 1), "dollar usd buck"},
		{money("$", 100), "cent"},
		{money("€", 1), "euro eur"},
		{money("£", 1), "gbp"},
		{money("£", 100), "pence penny"},
		{money("¥", 1), "yen yuan rmb"},
		{money("₹", 1), "rupee"},
	} {
		add(row.unit, row.words)
	}
	m["feet"], m["inches"] = m["foot"], m["inch"]
	for _, w := range strings.Fields("mm cm dm km nm mg kg ml dl hz khz mhz ghz kw kwh pa kpa mol") {
		if u := folded(w); u != nil {
			m[w] = u
		}
	}
	for _, w := range []string{"ins", "mins"} {
		m[w] = m[w[:len(w)-1]]
	}
	delete(m, "h")
	delete(m, "hs")
	delete(m, "has")
	return m
}

// folded is the unit of a symbol that was written in lower case.
func folded(w string) *Unit {
	for _, s := range []string{w, w[:1] + strings.ToUpper(w[1:2]) + w[2:], strings.ToUpper(w[:1]) + w[1:], strings.ToUpper(w[:1]) + strings.ToUpper(w[1:2]) + w[2:]} {
		if u := prefixed(s); u != nil {
			return u
		}
	}
	return nil
}

func prefixed(s string) *Unit {
	if u := symbols[s]; u != nil {
		return u
	}
	_, n := utf8.DecodeRuneInString(s)
	if factor, ok := prefixes[s[:n]]; ok && symbols[s[n:]] != nil {
		return symbols[s[n:]].times(factor)
	}
	return nil
}

func (u *Unit) times(factor rat.Rat) *Unit {
	v := *u
	v.Scale = u.Scale.Mul(factor)
	return &v
}

// symbolUnit is the unit of a symbol with or without a prefix, or nil.
func symbolUnit(s string) *Unit { return find(s).symbol }

func wordUnit(w string) *Unit {
	if u := symbolUnit(w); u != nil {
		return u
	}
	return find(strings.ToLower(w)).unit
}

// bareUnits leaves of a unit in LaTeX what matters.
var bareUnits = strings.NewReplacer(`\text`, "", `\mathrm`, "", `\textrm`, "", `\rm`, "", `\cdot`, " ", `\,`, " ", `\;`, " ", `\ `, " ", `\!`, "", "~", " ", "{", "", "}", "", "$", "", "·", " ", "*", " ", "(", " ", ")", " ", `\%`, "%", `\`, "")

// measure is the unit that words and signs state, up to the first that is not one:
// cm^2, square feet, km per hour. It is nil if they state none that is known.
func measure(text string) *Unit {
	text = bareUnits.Replace(text)
	m := measuring{unit: Unit{Scale: one}, sign: 1, power: 1}
	for text != "" {
		n := m.step(text)
		if n == 0 {
			break
		}
		text = text[n:]
	}
	if m.factors == 0 || m.sign < 0 && m.pending {
		return nil
	}
	return &m.unit
}

// measuring is a unit so far and what the next factor gets.
type measuring struct {
	unit    Unit
	last    *Unit // the last factor, for an exponent after it
	sign    int8
	power   int8
	factors int
	pending bool // a "per" without its unit
}

// step reads one word or sign and returns its length, or 0 at the end of the unit.
func (m *measuring) step(s string) int {
	switch c := s[0]; {
	case c == ' ' || c == '.' || c == '\n':
		return 1
	case c == '/':
		m.sign, m.pending = -1, true
		return 1
	case c == '^' || c >= utf8.RuneSelf && m.last != nil && strings.ContainsRune(superscripts+"⁻", first(s)):
		return m.exponent(s)
	}
	n := 0
	for n < len(s) {
		r, size := utf8.DecodeRuneInString(s[n:])
		if r < utf8.RuneSelf && !isLetter(s[n]) || strings.ContainsRune(superscripts+"⁻", r) {
			break
		}
		n += size
	}
	if n == 0 || !m.word(s[:n], s[n:]) {
		return 0
	}
	return n
}

func first(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// word takes a word; it is false for one that is not of a unit.
func (m *measuring) word(w, after string) bool {
	switch strings.ToLower(w) {
	case "square", "sq":
		m.power = 2
		return true
	case "cubic", "cu":
		m.power = 3
		return true
	case "squared", "cubed":
		if m.last == nil {
			return false
		}
		m.multiply(m.last, m.sign*map[string]int8{"squared": 1, "cubed": 2}[strings.ToLower(w)])
		return true
	case "per", "an":
		m.sign, m.pending = -1, true
		return m.factors > 0
	case "in":
		if strings.Trim(after, " .^23²³") != "" {
			return false
		}
	}
	u := wordUnit(w)
	if u == nil {
		return false
	}
	m.multiply(u, m.sign*m.power)
	m.last, m.pending, m.power = u, false, 1
	m.factors++
	return true
}

// exponent reads ^2 or ² behind a factor.
func (m *measuring) exponent(s string) int {
	n, minus, value := 0, false, int8(0)
	for n < len(s) {
		r, size := utf8.DecodeRuneInString(s[n:])
		switch {
		case r == '^' || r == ' ' && value == 0:
		case r == '-' || r == '⁻' || r == '−':
			minus = true
		case r >= '0' && r <= '9' && value < 10:
			value = value*10 + int8(r-'0')
		case strings.ContainsRune(superscripts, r) && value < 10:
			value = value*10 + int8(digitOf(r)-'0')
		default:
			size = -1
		}
		if size < 0 {
			break
		}
		n += size
	}
	if value == 0 || m.last == nil {
		return 0
	}
	if minus {
		value = -value
	}
	m.multiply(m.last, m.sign*(value-1))
	return n
}

// multiply multiplies the unit with a power of another.
func (m *measuring) multiply(u *Unit, power int8) {
	for i := range m.unit.Dim {
		m.unit.Dim[i] += u.Dim[i] * power
	}
	if power != 0 && u.Kind != "" {
		if power < 0 {
			m.unit.Kind += "/"
		}
		m.unit.Kind += u.Kind
	}
	m.unit.Scale = m.unit.Scale.Mul(u.Scale.Pow(int64(power)))
}

// UnitEnd is the length of the unit or magnitude that a number has at the beginning of
// s, with the spaces before it: " million dollars", " km/h".
func UnitEnd(s string) int {
	if s == "" || s[0] == '.' || s[0] == '\n' || s[0] == ',' {
		return 0
	}
	n := 0
	for {
		word := n + len(s[n:]) - len(strings.TrimLeft(s[n:], " "))
		run := commandName(s[word:])
		if word == n || find(strings.ToLower(run)).factor == 0 {
			break
		}
		n = word + len(run)
	}
	m := measuring{unit: Unit{Scale: one}, sign: 1, power: 1}
	end := n
	for at := n; at < len(s) && at < n+40; {
		k := m.step(s[at:])
		if k == 0 {
			break
		}
		at += k
		if m.factors > 0 && !m.pending && s[at-1] != ' ' && s[at-1] != '.' {
			end = at
		}
	}
	if m.factors == 1 && end == n+2 && s[n+1] < 'a' { // an initial
		return n
	}
	return end
}
