package main

import (
	"bufio"
	"cmp"
	"io"
	"math"
	"math/big"
	"os"
	"slices"
	"strconv"
	"strings"
)

// key is one key of sort: from a character of a field to one of another.
type key struct {
	from, fromChar, to, toChar int // counted from 1; to 0 means the end
	flags                      string
}

const orderFlags = "bdfghiMnRrV"

type sorting struct {
	keys   []key
	flags  string
	tab    string
	stable bool
}

func sortUtility(c *call) int {
	o, names := c.parse("b|ignore-leading-blanks d|dictionary-order f|ignore-case g|general-numeric-sort h|human-numeric-sort i|ignore-nonprinting M|month-sort n|numeric-sort R r|reverse V|version-sort " +
		"c|check=? C k|key= m|merge o|output= s|stable S= t|field-separator= T= u|unique z parallel= sort= debug files0-from=")
	s := sorting{tab: o.last("t", ""), stable: o.has("s") || o.has("u")}
	if s.tab == `\t` {
		s.tab = "\t"
	}
	if s.tab == `\0` {
		s.tab = "\x00"
	}
	for _, f := range orderFlags {
		if o.has(string(f)) {
			s.flags += string(f)
		}
	}
	s.flags += map[string]string{"numeric": "n", "general-numeric": "g", "human-numeric": "h", "month": "M", "version": "V"}[o.last("sort", "")]
	for _, text := range o["k"] {
		s.keys = append(s.keys, c.key(text))
	}
	var all []string
	status := 0
	if len(names) == 0 {
		names = []string{"-"}
	}
	for _, name := range names {
		r, err := c.open(name)
		if err != nil {
			c.fail("cannot read: %s: %s", name, err)
			return 2
		}
		for line := range lines(r) {
			all = append(all, bare(line))
		}
		r.Close()
	}
	if o.has("c") || o.has("C") {
		return c.sorted(s, all, names[0], o)
	}
	slices.SortStableFunc(all, s.compare)
	if o.has("u") {
		all = slices.CompactFunc(all, func(a, b string) bool { return s.byKeys(a, b) == 0 })
	}
	out := c.out
	if name := o.last("o", ""); name != "" {
		f, err := os.Create(c.path(name))
		if err != nil {
			c.fail("open failed: %s: %s", name, err)
			return 2
		}
		defer f.Close()
		w := bufio.NewWriter(f)
		defer w.Flush()
		out = w
	}
	for _, line := range all {
		if _, err := io.WriteString(out, line+"\n"); err != nil {
			return c.unwritten(err)
		}
	}
	return status
}

func (c *call) sorted(s sorting, all []string, name string, o options) int {
	for i := 1; i < len(all); i++ {
		d := s.compare(all[i-1], all[i])
		if d > 0 || d == 0 && o.has("u") {
			if !o.has("C") {
				c.fail("%s:%d: disorder: %s", name, i+1, all[i])
			}
			return 1
		}
	}
	return 0
}

// key reads POS1[,POS2], each a field, optionally a character, and flags.
func (c *call) key(text string) (k key) {
	from, to, ends := strings.Cut(text, ",")
	position := func(text string) (field, char int) {
		body := strings.TrimRight(text, orderFlags)
		k.flags += text[len(body):]
		f, ch, dotted := strings.Cut(body, ".")
		field, err := strconv.Atoi(f)
		if err != nil || field < 1 {
			c.fail("invalid field specification %s", "‘"+text+"’")
			panic(exit(2))
		}
		if dotted {
			char, _ = strconv.Atoi(ch)
		}
		return field, char
	}
	k.from, k.fromChar = position(from)
	if ends {
		k.to, k.toChar = position(to)
	}
	return k
}

// part returns the part of a line that a key selects.
func (s *sorting) part(line string, k key, flags string) string {
	starts, ends := s.fields(line)
	if k.from > len(starts) {
		return ""
	}
	from := starts[k.from-1]
	if strings.Contains(flags, "b") {
		for from < len(line) && (line[from] == ' ' || line[from] == '\t') {
			from++
		}
	}
	from += max(k.fromChar-1, 0)
	to := len(line)
	if k.to > 0 && k.to <= len(ends) {
		if to = ends[k.to-1]; k.toChar > 0 {
			at := starts[k.to-1]
			if strings.Contains(flags, "b") {
				for at < len(line) && (line[at] == ' ' || line[at] == '\t') {
					at++
				}
			}
			to = min(at+k.toChar, len(line))
		}
	}
	if from >= to {
		return ""
	}
	return line[from:to]
}

// fields returns where the fields of a line begin and end. Without a separator, blanks before
// a field belong to it.
func (s *sorting) fields(line string) (starts, ends []int) {
	if s.tab != "" {
		at := 0
		for _, f := range strings.Split(line, s.tab) {
			starts, ends = append(starts, at), append(ends, at+len(f))
			at += len(f) + len(s.tab)
		}
		return starts, ends
	}
	for at := 0; at < len(line); {
		starts = append(starts, at)
		for at < len(line) && (line[at] == ' ' || line[at] == '\t') {
			at++
		}
		for at < len(line) && line[at] != ' ' && line[at] != '\t' {
			at++
		}
		ends = append(ends, at)
	}
	return starts, ends
}

func (s *sorting) compare(a, b string) int {
	if d := s.byKeys(a, b); d != 0 || s.stable {
		return d
	}
	d := strings.Compare(a, b)
	if strings.Contains(s.flags, "r") {
		d = -d
	}
	return d
}

func (s *sorting) byKeys(a, b string) int {
	if len(s.keys) == 0 {
		return order(a, b, s.flags)
	}
	for _, k := range s.keys {
		flags := k.flags
		if strings.Trim(flags, "b") == "" {
			flags += s.flags
		}
		if d := order(s.part(a, k, flags), s.part(b, k, flags), flags); d != 0 {
			return d
		}
	}
	return 0
}

// order compares two texts as flags say.
func order(a, b, flags string) (d int) {
	has := func(f string) bool { return strings.Contains(flags, f) }
	switch {
	case has("n"):
		d = compareNumbers(a, b)
	case has("g"):
		d = cmp.Compare(general(a), general(b))
	case has("h"):
		d = cmp.Compare(human(a), human(b))
	case has("M"):
		d = cmp.Compare(month(a), month(b))
	case has("V"):
		d = compareVersions(a, b)
	default:
		d = strings.Compare(folded(a, flags), folded(b, flags))
	}
	if has("r") {
		d = -d
	}
	return d
}

func folded(s, flags string) string {
	if strings.Contains(flags, "b") {
		s = strings.TrimLeft(s, " \t")
	}
	if strings.Contains(flags, "f") {
		s = strings.ToUpper(s)
	}
	if strings.Contains(flags, "d") {
		s = strings.Map(func(r rune) rune {
			if inClass("alnum", r) || inClass("blank", r) {
				return r
			}
			return -1
		}, s)
	}
	return s
}

// numeral returns the number that a text begins with, or "0".
func numeral(s string) string {
	s = strings.TrimLeft(s, " \t")
	end, dot := 0, false
	for end < len(s) && (s[end] >= '0' && s[end] <= '9' || end == 0 && s[end] == '-' || s[end] == '.' && !dot) {
		dot = dot || s[end] == '.'
		end++
	}
	if n := s[:end]; strings.ContainsAny(n, "0123456789") {
		return n
	}
	return "0"
}

func compareNumbers(a, b string) int {
	a, b = numeral(a), numeral(b)
	if len(a) < 16 && len(b) < 16 {
		x, _ := strconv.ParseFloat(a, 64)
		y, _ := strconv.ParseFloat(b, 64)
		return cmp.Compare(x, y)
	}
	x, _ := new(big.Rat).SetString(a)
	y, _ := new(big.Rat).SetString(b)
	if x == nil || y == nil {
		return 0
	}
	return x.Cmp(y)
}

func general(s string) float64 {
	s = strings.TrimSpace(s)
	for end := len(s); end > 0; end-- {
		if v, err := strconv.ParseFloat(s[:end], 64); err == nil {
			return v
		}
	}
	return math.Inf(-1)
}

func human(s string) float64 {
	n := numeral(s)
	v, _ := strconv.ParseFloat(n, 64)
	rest := strings.TrimPrefix(strings.TrimLeft(s, " \t"), n)
	if rest != "" {
		if k := strings.IndexByte("KMGTPEZY", strings.ToUpper(rest)[0]); k >= 0 {
			return v * math.Pow(1024, float64(k+1))
		}
	}
	return v
}

func month(s string) int {
	s = strings.ToUpper(strings.TrimLeft(s, " \t"))
	if len(s) < 3 {
		return 0
	}
	return strings.Index("JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC", s[:3])/3 + 1
}

// compareVersions compares runs of digits as numbers.
func compareVersions(a, b string) int {
	split := func(s string, digits bool) (string, string) {
		k := 0
		for k < len(s) && (s[k] >= '0' && s[k] <= '9') == digits {
			k++
		}
		return s[:k], s[k:]
	}
	x, y := a, b
	for x != "" || y != "" {
		var p, q string
		p, x = split(x, false)
		q, y = split(y, false)
		if d := strings.Compare(p, q); d != 0 {
			return d
		}
		p, x = split(x, true)
		q, y = split(y, true)
		p, q = strings.TrimLeft(p, "0"), strings.TrimLeft(q, "0")
		if d := cmp.Or(cmp.Compare(len(p), len(q)), strings.Compare(p, q)); d != 0 {
			return d
		}
	}
	return strings.Compare(a, b)
}

func join(c *call) int {
	o, names := c.parse("1= 2= j= t= a= v= o= e= i nocheck-order check-order header z")
	if len(names) != 2 {
		c.usage("missing operand")
	}
	s := sorting{tab: o.last("t", "")}
	split := func(line string) []string {
		if s.tab != "" {
			return strings.Split(line, s.tab)
		}
		return strings.Fields(line)
	}
	var tables [2][][]string
	var on [2]int
	for i, name := range names {
		on[i], _ = strconv.Atoi(o.last(strconv.Itoa(i+1), o.last("j", "1")))
		on[i]--
		r, err := c.open(name)
		if err != nil {
			return c.fail("%s: %s", name, err)
		}
		for line := range lines(r) {
			tables[i] = append(tables[i], split(bare(line)))
		}
		r.Close()
	}
	j := joining{c, o, s.tab, on}
	j.merge(tables[0], tables[1])
	return 0
}

type joining struct {
	*call
	o   options
	tab string
	on  [2]int
}

func (j *joining) key(row []string, side int) string {
	k := ""
	if row != nil && j.on[side] < len(row) {
		k = row[j.on[side]]
	}
	if j.o.has("i") {
		k = strings.ToLower(k)
	}
	return k
}

func (j *joining) merge(a, b [][]string) {
	lonely := func(side int, row []string) {
		if n := strconv.Itoa(side + 1); slices.Contains(j.o["a"], n) || slices.Contains(j.o["v"], n) {
			rows := [2][]string{}
			rows[side] = row
			j.row(rows[0], rows[1], side)
		}
	}
	if j.o.has("header") && len(a) > 0 && len(b) > 0 {
		j.row(a[0], b[0], 0)
		a, b = a[1:], b[1:]
	}
	for len(a)+len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && j.key(a[0], 0) < j.key(b[0], 1):
			lonely(0, a[0])
			a = a[1:]
		case len(a) == 0 || j.key(b[0], 1) < j.key(a[0], 0):
			lonely(1, b[0])
			b = b[1:]
		default:
			k := j.key(a[0], 0)
			n := 0
			for n < len(b) && j.key(b[n], 1) == k {
				n++
			}
			for len(a) > 0 && j.key(a[0], 0) == k {
				for _, other := range b[:n] {
					if !j.o.has("v") {
						j.row(a[0], other, 0)
					}
				}
				a = a[1:]
			}
			b = b[n:]
		}
	}
}

// row prints a row that was joined.
func (j *joining) row(a, b []string, side int) {
	rows := [2][]string{a, b}
	field := func(side, n int) string {
		if n < len(rows[side]) && rows[side][n] != "" {
			return rows[side][n]
		}
		return j.o.last("e", "")
	}
	var out []string
	if list := j.o.last("o", ""); list != "" && list != "auto" {
		for _, item := range strings.FieldsFunc(strings.Join(j.o["o"], ","), func(r rune) bool { return r == ',' || r == ' ' }) {
			if item == "0" {
				out = append(out, field(side, j.on[side]))
				continue
			}
			s, f, _ := strings.Cut(item, ".")
			n, _ := strconv.Atoi(f)
			out = append(out, field(map[string]int{"1": 0, "2": 1}[s], n-1))
		}
	} else {
		out = append(out, field(side, j.on[side]))
		for s, row := range rows {
			for n, f := range row {
				if n != j.on[s] {
					out = append(out, f)
				}
			}
		}
	}
	sep := j.tab
	if sep == "" {
		sep = " "
	}
	j.print(strings.Join(out, sep), "\n")
}
