package main

import (
	"bufio"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// spans is a list of ranges such as 1,3-5,7-.
type spans [][2]int

func (c *call) spans(list string) (s spans) {
	for _, part := range strings.Split(list, ",") {
		from, to, ranged := strings.Cut(part, "-")
		lo, hi := 1, math.MaxInt
		var err error
		if from != "" {
			if lo, err = strconv.Atoi(from); err != nil || lo < 1 {
				c.usage("invalid byte, character or field list")
			}
		}
		switch {
		case !ranged:
			hi = lo
		case to != "":
			if hi, err = strconv.Atoi(to); err != nil || hi < lo {
				c.usage("invalid decreasing range")
			}
		}
		s = append(s, [2]int{lo, hi})
	}
	return s
}

func (s spans) has(n int) bool {
	return slices.ContainsFunc(s, func(r [2]int) bool { return r[0] <= n && n <= r[1] })
}

func cut(c *call) int {
	o, names := c.parse("f|fields= d|delimiter= c|characters= b|bytes= s|only-delimited complement output-delimiter= n z")
	list := o.last("f", o.last("c", o.last("b", "")))
	if list == "" {
		c.usage("you must specify a list of bytes, characters, or fields")
	}
	want, tab := c.spans(list), o.last("d", "\t")
	if tab == "" {
		tab = "\x00"
	}
	keep := func(n int) bool { return want.has(n) != o.has("complement") }
	return c.each(names, func(_ string, r io.Reader) {
		for line := range lines(r) {
			line = bare(line)
			if !o.has("f") {
				c.print(cutBytes(line, o.last("output-delimiter", ""), keep), "\n")
				continue
			}
			fields := strings.Split(line, tab)
			if len(fields) == 1 {
				if !o.has("s") {
					c.print(line, "\n")
				}
				continue
			}
			var kept []string
			for i, f := range fields {
				if keep(i + 1) {
					kept = append(kept, f)
				}
			}
			c.print(strings.Join(kept, o.last("output-delimiter", tab)), "\n")
		}
	})
}

func cutBytes(line, between string, keep func(int) bool) string {
	var b strings.Builder
	for i := range len(line) {
		if !keep(i + 1) {
			continue
		}
		if b.Len() > 0 && !keep(i) {
			b.WriteString(between)
		}
		b.WriteByte(line[i])
	}
	return b.String()
}

// set is the list of bytes that an argument of tr stands for.
func (c *call) set(text string) (s []byte, class string) {
	var items []int
	literal := func() int { // one byte or escape at the beginning of text
		b := text[0]
		text = text[1:]
		if b != '\\' || text == "" {
			return int(b)
		}
		b = text[0]
		text = text[1:]
		if k := strings.IndexByte("abfnrtv\\", b); k >= 0 {
			return int("\a\b\f\n\r\t\v\\"[k])
		}
		if b >= '0' && b <= '7' {
			v := int(b - '0')
			for k := 0; k < 2 && text != "" && text[0] >= '0' && text[0] <= '7'; k++ {
				v, text = v*8+int(text[0]-'0'), text[1:]
			}
			return v & 255
		}
		return int(b)
	}
	for text != "" {
		if strings.HasPrefix(text, "[:") {
			if name, rest, ok := strings.Cut(text[2:], ":]"); ok {
				class, text = name, rest
				for b := range 256 {
					if inClass(name, rune(b)) {
						items = append(items, b)
					}
				}
				continue
			}
		}
		if strings.HasPrefix(text, "[=") && len(text) >= 5 && text[3:5] == "=]" {
			items, text = append(items, int(text[2])), text[5:]
			continue
		}
		if len(text) > 3 && text[0] == '[' && text[2] == '*' {
			if count, rest, ok := strings.Cut(text[3:], "]"); ok {
				n, _ := strconv.ParseInt(count, 0, 32)
				if n == 0 {
					n = 256
				}
				for range n {
					items = append(items, int(text[1]))
				}
				text = rest
				continue
			}
		}
		b := literal()
		if len(text) > 1 && text[0] == '-' {
			text = text[1:]
			for to := literal(); b <= to; b++ {
				items = append(items, b)
			}
			continue
		}
		items = append(items, b)
	}
	for _, b := range items {
		s = append(s, byte(b))
	}
	return s, class
}

// inClass reports whether an ASCII character is in a class of POSIX.
func inClass(name string, r rune) bool {
	if r > 127 {
		return false
	}
	switch name {
	case "alpha":
		return unicode.IsLetter(r)
	case "digit":
		return unicode.IsDigit(r)
	case "alnum":
		return unicode.IsLetter(r) || unicode.IsDigit(r)
	case "upper":
		return unicode.IsUpper(r)
	case "lower":
		return unicode.IsLower(r)
	case "space":
		return unicode.IsSpace(r)
	case "blank":
		return r == ' ' || r == '\t'
	case "punct":
		return r > 32 && r < 127 && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	case "cntrl":
		return r < 32 || r == 127
	case "print":
		return r >= 32 && r < 127
	case "graph":
		return r > 32 && r < 127
	case "xdigit":
		return strings.ContainsRune("0123456789abcdefABCDEF", r)
	}
	return false
}

func tr(c *call) int {
	o, sets := c.parse("d|delete s|squeeze-repeats c|complement C t|truncate-set1")
	if len(sets) == 0 || len(sets) == 1 && !o.has("d") && !o.has("s") {
		c.usage("missing operand")
	}
	from, _ := c.set(sets[0])
	if o.has("c") || o.has("C") {
		var others []byte
		for b := range 256 {
			if !slices.Contains(from, byte(b)) {
				others = append(others, byte(b))
			}
		}
		from = others
	}
	var to []byte
	if len(sets) > 1 {
		to, _ = c.set(sets[1])
	}
	var in, squeeze [256]bool
	var becomes [256]byte
	for b := range 256 {
		becomes[b] = byte(b)
	}
	for i, b := range from {
		in[b] = true
		if !o.has("d") && len(to) > 0 && (i < len(to) || !o.has("t")) {
			becomes[b] = to[min(i, len(to)-1)]
		}
	}
	last := from
	if len(sets) > 1 {
		last = to
	}
	for _, b := range last {
		squeeze[b] = o.has("s")
	}
	return c.translate(o.has("d"), &in, &squeeze, &becomes)
}

func (c *call) translate(remove bool, in, squeeze *[256]bool, becomes *[256]byte) int {
	before := -1
	buffer, out := make([]byte, 1<<15), make([]byte, 0, 1<<15)
	for {
		n, err := c.in.Read(buffer)
		out = out[:0]
		for _, b := range buffer[:n] {
			if remove && in[b] {
				continue
			}
			b = becomes[b]
			if squeeze[b] && before == int(b) {
				continue
			}
			before = int(b)
			out = append(out, b)
		}
		c.print(string(out))
		if err != nil {
			return 0
		}
	}
}

func uniq(c *call) int {
	o, names := c.parse("c|count d|repeated u|unique i|ignore-case f|skip-fields= s|skip-chars= w|check-chars= D all-repeated=? z")
	key := func(line string) string {
		line = bare(line)
		for range int(c.sized(o.last("f", "0"), "number of fields to skip")) {
			line = strings.TrimLeft(line, " \t")
			if k := strings.IndexAny(line, " \t"); k >= 0 {
				line = line[k:]
			} else {
				line = ""
			}
		}
		line = line[min(len(line), int(c.sized(o.last("s", "0"), "number of bytes to skip"))):]
		if o.has("w") {
			line = line[:min(len(line), int(c.sized(o.last("w", ""), "number of bytes to compare")))]
		}
		if o.has("i") {
			line = strings.ToLower(line)
		}
		return line
	}
	if len(names) > 1 {
		f, err := os.Create(c.path(names[1]))
		if err != nil {
			return c.fail("%s: %s", names[1], err)
		}
		defer f.Close()
		c.out = f
	}
	var group []string
	flush := func() {
		switch {
		case len(group) == 0, o.has("d") && len(group) == 1, o.has("u") && len(group) > 1:
		case o.has("D") || o.has("all-repeated"):
			if len(group) > 1 {
				c.print(group...)
			}
		case o.has("c"):
			c.printf("%7d %s", len(group), group[0])
		default:
			c.print(group[0])
		}
		group = group[:0]
	}
	status := c.each(names[:min(len(names), 1)], func(_ string, r io.Reader) {
		for line := range lines(r) {
			if len(group) > 0 && key(group[0]) != key(line) {
				flush()
			}
			group = append(group, ended(line))
		}
	})
	flush()
	return status
}

func paste(c *call) int {
	o, names := c.parse("d|delimiters= s|serial z")
	var between []string
	for d := o.last("d", "\t"); d != ""; {
		switch {
		case strings.HasPrefix(d, `\n`):
			between, d = append(between, "\n"), d[2:]
		case strings.HasPrefix(d, `\t`):
			between, d = append(between, "\t"), d[2:]
		case strings.HasPrefix(d, `\0`):
			between, d = append(between, ""), d[2:]
		default:
			r := []rune(d)[0]
			between, d = append(between, string(r)), d[len(string(r)):]
		}
	}
	if len(between) == 0 {
		between = []string{""}
	}
	if len(names) == 0 {
		names = []string{"-"}
	}
	if o.has("s") {
		return c.each(names, func(_ string, r io.Reader) {
			k := 0
			for line := range lines(r) {
				if k > 0 {
					c.print(between[(k-1)%len(between)])
				}
				c.print(bare(line))
				k++
			}
			c.print("\n")
		})
	}
	standard := bufio.NewReader(c.in)
	var readers []*bufio.Reader
	for _, name := range names {
		if name == "-" {
			readers = append(readers, standard)
			continue
		}
		r, err := c.open(name)
		if err != nil {
			return c.fail("%s: %s", name, err)
		}
		defer r.Close()
		readers = append(readers, bufio.NewReader(r))
	}
	for {
		row, some := "", false
		for i, r := range readers {
			line, _ := r.ReadString('\n')
			some = some || line != ""
			if i > 0 {
				row += between[(i-1)%len(between)]
			}
			row += bare(line)
		}
		if !some {
			return 0
		}
		c.print(row, "\n")
	}
}

func comm(c *call) int {
	o, names := c.parse("1 2 3 check-order nocheck-order output-delimiter= z total")
	if len(names) != 2 {
		c.usage("missing operand")
	}
	var files [2][]string
	for i, name := range names {
		r, err := c.open(name)
		if err != nil {
			return c.fail("%s: %s", name, err)
		}
		for line := range lines(r) {
			files[i] = append(files[i], bare(line))
		}
		r.Close()
	}
	tab := o.last("output-delimiter", "\t")
	column := func(n int, line string) {
		if o.has(strconv.Itoa(n)) {
			return
		}
		for k := 1; k < n; k++ {
			if !o.has(strconv.Itoa(k)) {
				c.print(tab)
			}
		}
		c.print(line, "\n")
	}
	a, b := files[0], files[1]
	for len(a)+len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0] < b[0]:
			column(1, a[0])
			a = a[1:]
		case len(a) == 0 || b[0] < a[0]:
			column(2, b[0])
			b = b[1:]
		default:
			column(3, a[0])
			a, b = a[1:], b[1:]
		}
	}
	return 0
}
