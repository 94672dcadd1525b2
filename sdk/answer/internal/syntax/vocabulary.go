package syntax

import (
	"strings"
)

// entry is what is known of a word or the name of a command.
type entry struct {
	word   string
	class  class
	op     Op    // of a relation
	unit   *Unit // what it measures, in lower case
	symbol *Unit // what it measures as a symbol, with a prefix or without
	factor int64 // of a magnitude, in lower case
}

type class uint8

// The classes of words. Case matters, but for remarks.
const (
	function class = 1 << iota
	greek
	remark   // does not change the number before it: 5 apples are 5
	skip     // a command that does not matter
	textual  // a command whose braces have text
	relation // a command that is a relation
)

func (e *entry) is(c class) bool { return e.class&c != 0 }

// table holds the entries by a hash of the word. One look costs less than the six maps that
// it replaces: in WebAssembly a map of strings costs several hundred instructions.
type table struct {
	slots   [slots]uint16 // an index of entries, or 0
	entries []entry
}

const slots = 4096

func slot(word string) uint32 {
	h := uint32(len(word))
	for i := range len(word) {
		h = (h ^ uint32(word[i])) * 16777619
	}
	return (h ^ h>>15) % slots
}

// find is the entry of a word, or an empty one.
func find(word string) *entry {
	for i := slot(word); ; i = (i + 1) % slots {
		at := vocabulary.slots[i]
		if at == 0 || vocabulary.entries[at].word == word {
			return &vocabulary.entries[at]
		}
	}
}

// add is the entry of a word, which it makes if there is none.
func (t *table) add(word string) *entry {
	i := slot(word)
	for t.slots[i] != 0 {
		if e := &t.entries[t.slots[i]]; e.word == word {
			return e
		}
		i = (i + 1) % slots
	}
	t.slots[i] = uint16(len(t.entries))
	t.entries = append(t.entries, entry{word: word})
	return &t.entries[len(t.entries)-1]
}

// magnitudes multiply the number before them.
var magnitudes = map[string]int64{
	"dozen": 12, "hundred": 100, "thousand": 1000, "million": 1000_000, "billion": 1000_000_000, "trillion": 1000_000_000_000, "lakh": 100_000, "crore": 10_000_000,
}

var relationNames = map[string]Op{
	"le": LE, "leq": LE, "leqslant": LE, "leqq": LE, "ge": GE, "geq": GE, "geqslant": GE, "geqq": GE, "lt": LT, "gt": GT, "ne": NE, "neq": NE,
	"in": In, "notin": NotIn, "approx": Approx, "simeq": Approx, "equiv": EQ, "cong": EQ, "coloneqq": EQ, "doteq": EQ, "sim": Approx,
}

var classes = []struct {
	class class
	words string
}{
	{function, `
sin cos tan cot sec csc sinh cosh tanh coth arcsin arccos arctan arccot arcsec arccsc asin acos atan arsinh
arcosh artanh arcsinh arccosh arctanh ln log lg exp max min gcd lcm det abs sqrt floor ceil cbrt Re Im arg deg
dim ker tr rank tg ctg arctg cis sgn mod`},
	{greek, `
alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi rho sigma tau
upsilon phi varphi chi psi omega Delta Theta Lambda Xi Sigma Phi Psi Omega ell hbar Gamma Pi`},
	{skip, `
left right mleft mright big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr displaystyle textstyle limits
nolimits quad qquad hline rm bf it dotsc ldots dots cdots scriptstyle enspace thinspace noindent mathstrut
strut relax middle nonumber therefore centering dotsb dotsm vdots Large large small`},
	{textual, `
text textbf textit textrm textnormal texttt textsf textup mbox hbox mathrm operatorname mathsf mathtt emph
textsc operatorname*`},
}

// remarks are nouns of exercises, and other words that stand behind numbers.
const remarks = `
cup cc rpm decade century ms fps sq square cubic cu unit degree radian rad coin rs bucks
percent people person student child children apple book ticket mark point piece item time way digit number
integer solution triangle rectangle page word letter car dog cat bird fish egg cookie cake pie slice box bag bottle
men man women woman boy girl game step round marble ball card dice tile brick edge vertex vertices face side
row column seat table chair tree flower am pm noon per each total of the more less older younger
cow sheep goat horse chicken rabbit player team friend member worker house room day's am. pm. mile/hour miles/hour
toy meal lap run goal shot pencil pen crayon sticker stamp candy candies cupcake muffin pizza sandwich orange banana
`

var vocabulary = func() *table {
	t := &table{entries: make([]entry, 1, 2048)}
	for _, c := range classes {
		for _, w := range strings.Fields(c.words) {
			t.add(w).class |= c.class
		}
	}
	for _, w := range strings.Fields(remarks) {
		for _, end := range []string{"", "s", "es"} {
			if end == "" || w != "of" && w != "the" && w != "as" && w != "is" {
				t.add(w + end).class |= remark
			}
		}
	}
	for w, op := range relationNames {
		e := t.add(w)
		e.class, e.op = e.class|relation, op
	}
	for w, factor := range magnitudes {
		t.add(w).factor = factor
	}
	for s, u := range symbols {
		t.add(s).symbol = u
		for p, factor := range prefixes {
			if e := t.add(p + s); symbols[p+s] == nil {
				e.symbol = u.times(factor)
			}
		}
	}
	for w, u := range plainUnits() {
		t.add(w).unit = u
	}
	return t
}()
