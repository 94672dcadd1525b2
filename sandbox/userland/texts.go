package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"
)

func cat(c *call) int {
	o, names := c.parse("A|show-all b|number-nonblank e E|show-ends n|number s|squeeze-blank t T|show-tabs u v|show-nonprinting")
	ends, tabs := o.has("A") || o.has("e") || o.has("E"), o.has("A") || o.has("t") || o.has("T")
	marks := o.has("A") || o.has("e") || o.has("t") || o.has("v")
	plain := !ends && !tabs && !marks && !o.has("n") && !o.has("b") && !o.has("s")
	number, blank := 0, false
	return c.each(names, func(_ string, r io.Reader) {
		if plain {
			if f, ok := c.out.(*bufio.Writer); ok {
				f.Flush()
			}
			if _, err := io.Copy(c.out, r); err != nil {
				panic(exit(c.unwritten(err)))
			}
			return
		}
		for line := range lines(r) {
			empty := line == "\n"
			if o.has("s") && empty && blank {
				continue
			}
			blank = empty
			if o.has("b") && !empty || o.has("n") && !o.has("b") {
				number++
				c.printf("%6d\t", number)
			}
			c.print(shown(line, ends, tabs, marks))
		}
	})
}

// shown writes a line as cat -A does.
func shown(line string, ends, tabs, marks bool) string {
	var b strings.Builder
	for _, r := range []byte(line) {
		switch {
		case r == '\n':
			if ends {
				b.WriteByte('$')
			}
			b.WriteByte(r)
		case r == '\t' && !tabs:
			b.WriteByte(r)
		case r == '\t' || r < 32 && marks:
			b.WriteString("^" + string(rune(r+64)))
		case r == 127 && marks:
			b.WriteString("^?")
		case r >= 128 && marks:
			b.WriteString("M-" + shown(string(rune(r-128)), false, true, true))
		default:
			b.WriteByte(r)
		}
	}
	return b.String()
}

// modern turns head -5 into head -n 5.
func modern(args []string, plus bool) []string {
	var out []string
	for i, a := range args {
		if i > 0 && (args[i-1] == "-n" || args[i-1] == "-c" || args[i-1] == "--lines" || args[i-1] == "--bytes") {
			out = append(out, a)
			continue
		}
		if len(a) > 1 && (a[0] == '-' || plus && a[0] == '+' && i == 0) && a[1] >= '0' && a[1] <= '9' {
			count, suffix := strings.TrimLeft(a, "-"), ""
			if n := len(count) - 1; count[n] == 'c' || count[n] == 'f' || count[n] == 'l' {
				count, suffix = count[:n], count[n:]
			}
			if suffix == "c" {
				out = append(out, "-c", count)
			} else {
				out = append(out, "-n", count)
			}
			continue
		}
		out = append(out, a)
	}
	return out
}

// sized reads a number with a suffix such as K.
func (c *call) sized(text, what string) int64 {
	units := map[string]int64{"": 1, "b": 512, "k": 1 << 10, "K": 1 << 10, "kB": 1000, "KB": 1000, "KiB": 1 << 10, "M": 1 << 20, "MB": 1_000_000, "MiB": 1 << 20, "G": 1 << 30, "GB": 1_000_000_000, "c": 1, "w": 2}
	digits := strings.TrimRight(text, "bkKMGBicw")
	unit, ok := units[text[len(digits):]]
	n, err := strconv.ParseInt(strings.TrimPrefix(digits, "+"), 10, 64)
	if err != nil || !ok {
		c.fail("invalid %s: %s", what, "‘"+text+"’")
		panic(exit(1))
	}
	return n * unit
}

func head(c *call) int {
	c.args = modern(c.args, false)
	o, names := c.parse("n|lines= c|bytes= q|quiet|silent v|verbose z|zero-terminated")
	bytes := o.has("c")
	text := o.last("n", "10")
	if bytes {
		text = o.last("c", "")
	}
	n := c.sized(text, "number of "+map[bool]string{true: "bytes", false: "lines"}[bytes])
	first := true
	status := 0
	if len(names) == 0 {
		names = []string{"-"}
	}
	titled := (len(names) > 1 || o.has("v")) && !o.has("q")
	for _, name := range names {
		r, err := c.open(name)
		if err != nil {
			status = c.fail("cannot open %s for reading: %s", quote(name), err)
			continue
		}
		c.title(name, titled, &first)
		c.headOf(r, n, bytes)
		r.Close()
	}
	return status
}

func (c *call) title(name string, titled bool, first *bool) {
	if !titled {
		return
	}
	if !*first {
		c.print("\n")
	}
	*first = false
	if name == "-" {
		name = "standard input"
	}
	c.print("==> ", name, " <==\n")
}

func (c *call) headOf(r io.Reader, n int64, bytes bool) {
	switch {
	case n < 0 && bytes:
		data, _ := io.ReadAll(r)
		c.print(string(data[:max(0, int64(len(data))+n)]))
	case n < 0:
		var kept []string
		for line := range lines(r) {
			if kept = append(kept, line); int64(len(kept)) > -n {
				c.print(kept[0])
				kept = kept[1:]
			}
		}
	case bytes:
		if _, err := io.CopyN(c.out, r, n); err != nil && err != io.EOF {
			panic(exit(c.unwritten(err)))
		}
	case n > 0:
		for line := range c.linesOf(r) {
			c.print(line)
			if n--; n == 0 {
				return
			}
		}
	}
}

// linesOf yields lines. If r is a file, as standard input may be, its offset is behind the last
// line that was used.
func (c *call) linesOf(r io.Reader) func(func(string) bool) {
	return func(yield func(string) bool) {
		b := bufio.NewReaderSize(r, 1<<16)
		for {
			line, err := b.ReadString('\n')
			if line != "" && !yield(line) {
				if c.in != nil && b.Buffered() > 0 {
					_, _ = c.in.Seek(-int64(b.Buffered()), io.SeekCurrent)
				}
				return
			}
			if err != nil {
				return
			}
		}
	}
}

func tail(c *call) int {
	c.args = modern(c.args, true)
	o, names := c.parse("n|lines= c|bytes= q|quiet|silent v|verbose f|follow=? F s= z pid=")
	bytes := o.has("c")
	text := o.last("n", "10")
	if bytes {
		text = o.last("c", "")
	}
	from := strings.HasPrefix(text, "+")
	n := c.sized(strings.TrimPrefix(text, "-"), "number of "+map[bool]string{true: "bytes", false: "lines"}[bytes])
	if len(names) == 0 {
		names = []string{"-"}
	}
	first, status := true, 0
	titled := (len(names) > 1 || o.has("v")) && !o.has("q")
	for _, name := range names {
		r, err := c.open(name)
		if err != nil {
			status = c.fail("cannot open %s for reading: %s", quote(name), err)
			continue
		}
		c.title(name, titled, &first)
		data, _ := io.ReadAll(r)
		c.print(tailOf(string(data), n, from, bytes))
		r.Close()
	}
	return status
}

func tailOf(data string, n int64, from, bytes bool) string {
	size := int64(len(data))
	switch {
	case bytes && from:
		return data[min(max(n-1, 0), size):]
	case bytes:
		return data[max(size-n, 0):]
	case from:
		for ; n > 1; n-- {
			_, rest, found := strings.Cut(data, "\n")
			if !found {
				return ""
			}
			data = rest
		}
		return data
	case n == 0:
		return ""
	}
	at := len(strings.TrimSuffix(data, "\n"))
	for ; n > 0 && at >= 0; n-- {
		at = strings.LastIndexByte(data[:at], '\n')
	}
	return data[at+1:]
}

func tac(c *call) int {
	_, names := c.parse("b|before r|regex s|separator=")
	return c.each(names, func(_ string, r io.Reader) {
		var all []string
		for line := range lines(r) {
			all = append(all, line)
		}
		for i := len(all) - 1; i >= 0; i-- {
			c.print(all[i])
		}
	})
}

func rev(c *call) int {
	return c.each(c.args, func(_ string, r io.Reader) {
		for line := range lines(r) {
			runes := []rune(bare(line))
			for i, j := 0, len(runes)-1; i < j; i, j = i+1, j-1 {
				runes[i], runes[j] = runes[j], runes[i]
			}
			c.print(string(runes), line[len(bare(line)):])
		}
	})
}

// counts are what wc counts.
type counts struct{ lines, words, chars, bytes, longest int }

func (n *counts) add(r io.Reader) {
	for line := range lines(r) {
		n.bytes += len(line)
		n.chars += utf8.RuneCountInString(line)
		if strings.HasSuffix(line, "\n") {
			n.lines++
		}
		n.words += len(strings.Fields(line))
		n.longest = max(n.longest, utf8.RuneCountInString(bare(line)))
	}
}

func wc(c *call) int {
	o, names := c.parse("l|lines w|words c|bytes m|chars L|max-line-length files0-from= total=")
	if !o.has("l") && !o.has("w") && !o.has("c") && !o.has("m") && !o.has("L") {
		o["l"], o["w"], o["c"] = []string{""}, []string{""}, []string{""}
	}
	type row struct {
		name string
		n    counts
	}
	var rows []row
	var total counts
	status := 0
	given := names
	if len(names) == 0 {
		names = []string{"-"}
	}
	for _, name := range names {
		r, err := c.open(name)
		if err != nil {
			status = c.fail("%s: %s", name, err)
			continue
		}
		var n counts
		n.add(r)
		r.Close()
		rows = append(rows, row{name, n})
		total = counts{total.lines + n.lines, total.words + n.words, total.chars + n.chars, total.bytes + n.bytes, max(total.longest, n.longest)}
	}
	if len(names) > 1 {
		rows = append(rows, row{"total", total})
	}
	width := c.countWidth(o, given, total)
	for _, r := range rows {
		var cells []string
		for _, v := range []struct {
			option string
			value  int
		}{{"l", r.n.lines}, {"w", r.n.words}, {"m", r.n.chars}, {"c", r.n.bytes}, {"L", r.n.longest}} {
			if o.has(v.option) {
				cells = append(cells, fmt.Sprintf("%*d", width, v.value))
			}
		}
		if len(given) > 0 {
			cells = append(cells, r.name)
		}
		c.print(strings.Join(cells, " "), "\n")
	}
	return status
}

// countWidth is the width of wc's columns: that of the sizes of all files, as fstat has them.
func (c *call) countWidth(o options, given []string, total counts) int {
	columns := 0
	for _, name := range []string{"l", "w", "c", "m", "L"} {
		if o.has(name) {
			columns++
		}
	}
	switch {
	case columns == 1 && len(given) <= 1:
		return 1
	case len(given) == 0:
		if info, err := c.in.Stat(); err != nil || !info.Mode().IsRegular() {
			return 7
		}
	}
	for _, name := range given {
		if info, err := os.Stat(c.path(name)); name == "-" || err == nil && !info.Mode().IsRegular() {
			return 7
		}
	}
	return len(strconv.Itoa(total.bytes))
}

func tee(c *call) int {
	o, names := c.parse("a|append i p")
	status := 0
	outs := []io.Writer{}
	for _, name := range names {
		mode := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
		if o.has("a") {
			mode = os.O_WRONLY | os.O_CREATE | os.O_APPEND
		}
		f, err := os.OpenFile(c.path(name), mode, 0o644)
		if err != nil {
			status = c.fail("%s: %s", name, err)
			continue
		}
		defer f.Close()
		outs = append(outs, f)
	}
	buffer := make([]byte, 1<<15)
	for {
		n, err := c.in.Read(buffer)
		c.print(string(buffer[:n]))
		if f, ok := c.out.(*bufio.Writer); ok {
			f.Flush()
		}
		for _, w := range outs {
			if _, err := w.Write(buffer[:n]); err != nil {
				status = 1
			}
		}
		if err != nil {
			return status
		}
	}
}

func nl(c *call) int {
	o, names := c.parse("b|body-numbering= w|number-width= s|number-separator= v|starting-line-number= i|line-increment= n|number-format= f= h= d= l= p")
	style, width, number := o.last("b", "t"), int(c.sized(o.last("w", "6"), "width")), int(c.sized(o.last("v", "1"), "number"))
	format := map[string]string{"ln": "%-*d", "rn": "%*d", "rz": "%0*d"}[o.last("n", "rn")]
	return c.each(names, func(_ string, r io.Reader) {
		for line := range lines(r) {
			if style == "a" || style == "t" && line != "\n" {
				c.printf(format+"%s%s", width, number, o.last("s", "\t"), ended(line))
				number += int(c.sized(o.last("i", "1"), "number"))
			} else {
				c.print(strings.Repeat(" ", width+len(o.last("s", "\t"))), ended(line))
			}
		}
	})
}

func fold(c *call) int {
	o, names := c.parse("w|width= s|spaces b|bytes")
	width := int(c.sized(o.last("w", "80"), "number of columns"))
	return c.each(names, func(_ string, r io.Reader) {
		for line := range lines(r) {
			rest := []rune(bare(line))
			for len(rest) > width {
				cut := width
				if o.has("s") {
					for k := width; k > 0; k-- {
						if rest[k-1] == ' ' || rest[k-1] == '\t' {
							cut = k
							break
						}
					}
				}
				c.print(string(rest[:cut]), "\n")
				rest = rest[cut:]
			}
			c.print(string(rest), line[len(bare(line)):])
		}
	})
}
