package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// formatter is one call of printf.
type formatter struct {
	args   []string
	used   bool // a conversion took an argument
	out    strings.Builder
	errors []string
	ended  bool // \c in an argument of %b
}

// format writes the arguments by a format, which is used again while arguments are left.
func (f *formatter) format(format string) {
	for {
		f.used = false
		before := len(f.args)
		f.once(format)
		if f.ended || len(f.args) == 0 || len(f.args) == before {
			return
		}
	}
}

func (f *formatter) next() (string, bool) {
	f.used = true
	if len(f.args) == 0 {
		return "", false
	}
	a := f.args[0]
	f.args = f.args[1:]
	return a, true
}

func (f *formatter) once(format string) {
	for format != "" && !f.ended {
		switch format[0] {
		case '\\':
			n, text, end := escape(format, false)
			if end {
				f.ended = true
				return
			}
			f.out.WriteString(text)
			format = format[n:]
		case '%':
			format = f.conversion(format[1:])
		default:
			n := strings.IndexAny(format, `\%`)
			if n < 0 {
				n = len(format)
			}
			f.out.WriteString(format[:n])
			format = format[n:]
		}
	}
}

// escape reads an escape, and returns its length and what it stands for. end means \c.
func escape(text string, zero bool) (n int, out string, end bool) {
	if len(text) < 2 {
		return 1, `\`, false
	}
	b := text[1]
	if k := strings.IndexByte(`abefnrtv\"'?E`, b); k >= 0 {
		return 2, string("\a\b\x1b\f\n\r\t\v\\\"'?\x1b"[k]), false
	}
	digits := func(from, most int, set string) int {
		k := from
		for k < len(text) && k < from+most && strings.IndexByte(set, text[k]) >= 0 {
			k++
		}
		return k
	}
	const octal, hex = "01234567", "0123456789abcdefABCDEF"
	switch {
	case b == 'c':
		return 2, "", true
	case b >= '0' && b <= '7':
		from := 1
		if zero && b == '0' {
			from = 2
		}
		k := digits(from, 3, octal)
		v, _ := strconv.ParseUint("0"+text[from:k], 8, 16)
		return k, string([]byte{byte(v)}), false
	case b == 'x':
		if k := digits(2, 2, hex); k > 2 {
			v, _ := strconv.ParseUint(text[2:k], 16, 16)
			return k, string([]byte{byte(v)}), false
		}
	case b == 'u' || b == 'U':
		if k := digits(2, map[byte]int{'u': 4, 'U': 8}[b], hex); k > 2 {
			v, _ := strconv.ParseUint(text[2:k], 16, 32)
			return k, string(rune(v)), false
		}
	}
	return 2, text[:2], false
}

// unescaped is the argument of %b.
func (f *formatter) unescaped(text string) string {
	var b strings.Builder
	for text != "" {
		k := strings.IndexByte(text, '\\')
		if k < 0 {
			b.WriteString(text)
			break
		}
		b.WriteString(text[:k])
		n, out, end := escape(text[k:], true)
		if end {
			f.ended = true
			break
		}
		b.WriteString(out)
		text = text[k+n:]
	}
	return b.String()
}

// conversion writes what follows a % and returns the rest of the format.
func (f *formatter) conversion(format string) string {
	flags, width, precision := "", "", ""
	k := 0
	for k < len(format) && strings.IndexByte("-+ 0#'", format[k]) >= 0 {
		flags += string(format[k])
		k++
	}
	number := func() string {
		if k < len(format) && format[k] == '*' {
			k++
			a, _ := f.next()
			return strconv.Itoa(int(f.integer(a)))
		}
		from := k
		for k < len(format) && format[k] >= '0' && format[k] <= '9' {
			k++
		}
		return format[from:k]
	}
	if width = number(); strings.HasPrefix(width, "-") {
		flags, width = flags+"-", width[1:]
	}
	if k < len(format) && format[k] == '.' {
		k++
		precision = "." + number()
	}
	if k < len(format) && format[k] == '(' { // %(format)T
		if end := strings.Index(format[k:], ")T"); end > 0 {
			f.pad(f.moment(format[k+1:k+end]), flags, width)
			return format[k+end+2:]
		}
	}
	for k < len(format) && strings.IndexByte("hlLqjzt", format[k]) >= 0 && !(format[k] == 'q') {
		k++
	}
	if k >= len(format) {
		f.errors = append(f.errors, "`%': missing format character")
		f.ended = true
		return ""
	}
	f.value(format[k], strings.ReplaceAll(flags, "'", ""), width, precision)
	return format[k+1:]
}

func (f *formatter) moment(format string) string {
	a, ok := f.next()
	t := time.Now().UTC()
	if n := f.integer(a); ok && n >= 0 {
		t = time.Unix(n, 0).UTC()
	}
	return strftime(format, t)
}

// value writes one argument.
func (f *formatter) value(verb byte, flags, width, precision string) {
	spec := "%" + flags + width + precision
	switch verb {
	case '%':
		f.out.WriteByte('%')
	case 's', 'b', 'q', 'c':
		a, _ := f.next()
		switch verb {
		case 'b':
			a = f.unescaped(a)
		case 'q':
			a = shellQuoted(a)
		case 'c':
			if a != "" {
				_, n := utf8.DecodeRuneInString(a)
				a = a[:n]
			}
		}
		if precision != "" && verb != 'c' {
			n, _ := strconv.Atoi(precision[1:])
			if runes := []rune(a); n < len(runes) {
				a = string(runes[:n])
			}
		}
		f.pad(a, flags, width)
	case 'd', 'i':
		a, _ := f.next()
		fmt.Fprintf(&f.out, integerSpec(spec, flags, precision)+"d", f.integer(a))
	case 'u', 'o', 'x', 'X':
		a, _ := f.next()
		n := uint64(f.integer(a))
		verb := map[byte]string{'u': "d", 'o': "o", 'x': "x", 'X': "X"}[verb]
		fmt.Fprintf(&f.out, integerSpec(spec, flags, precision)+verb, n)
	case 'f', 'F', 'e', 'E', 'g', 'G', 'a', 'A':
		a, _ := f.next()
		f.float(verb, a, spec, flags, width, precision)
	default:
		f.errors = append(f.errors, fmt.Sprintf("`%%%c': invalid format character", verb))
		f.ended = true
	}
}

// integerSpec drops the flag 0 where a precision is given, as C does.
func integerSpec(spec, flags, precision string) string {
	if precision != "" && strings.Contains(flags, "0") {
		return strings.Replace(spec, flags, strings.ReplaceAll(flags, "0", ""), 1)
	}
	return spec
}

func (f *formatter) pad(text, flags, width string) {
	n, _ := strconv.Atoi(width)
	fill := strings.Repeat(" ", max(0, n-utf8.RuneCountInString(text)))
	if strings.Contains(flags, "-") {
		f.out.WriteString(text + fill)
	} else {
		f.out.WriteString(fill + text)
	}
}

// integer reads an integer of C, or the code of a character after a quote.
func (f *formatter) integer(text string) int64 {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0
	}
	if text[0] == '\'' || text[0] == '"' {
		r, _ := utf8.DecodeRuneInString(text[1:])
		return int64(r)
	}
	digits, base := text, 10
	sign := ""
	if digits[0] == '-' || digits[0] == '+' {
		sign, digits = strings.TrimPrefix(digits[:1], "+"), digits[1:]
	}
	if strings.HasPrefix(digits, "0x") || strings.HasPrefix(digits, "0X") {
		digits, base = digits[2:], 16
	} else if len(digits) > 1 && digits[0] == '0' {
		base = 8
	}
	end := 0
	for end < len(digits) {
		if _, err := strconv.ParseUint(digits[end:end+1], base, 8); err != nil {
			break
		}
		end++
	}
	if end < len(digits) {
		f.errors = append(f.errors, text+": invalid number")
	}
	n, err := strconv.ParseInt(sign+digits[:end], base, 64)
	if err != nil && end > 0 {
		if u, err := strconv.ParseUint(digits[:end], base, 64); err == nil {
			return int64(u)
		}
	}
	return n
}

func (f *formatter) float(verb byte, text, spec, flags, width, precision string) {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil && text != "" {
		if n, e := strconv.ParseInt(strings.TrimSpace(text), 0, 64); e == nil {
			v = float64(n)
		} else if !math.IsInf(v, 0) {
			f.errors = append(f.errors, text+": invalid number")
		}
	}
	if math.IsInf(v, 0) || math.IsNaN(v) {
		name := strings.ToLower(strings.TrimPrefix(fmt.Sprint(v), "+"))
		f.pad(name, flags, width)
		return
	}
	if verb == 'a' || verb == 'A' {
		verb = map[byte]byte{'a': 'x', 'A': 'X'}[verb]
	}
	if (verb == 'g' || verb == 'G') && precision == "" {
		spec += ".6"
	}
	fmt.Fprintf(&f.out, spec+string(verb), v)
}

// shellQuoted quotes a text as printf %q does.
func shellQuoted(s string) string {
	if s == "" {
		return "''"
	}
	for _, r := range s {
		if r < 32 || r == 127 {
			if q, err := syntax.Quote(s, syntax.LangBash); err == nil {
				return q
			}
		}
	}
	var b strings.Builder
	for i, r := range s {
		if strings.ContainsRune(" !\"#$&'()*,;<>?[\\]^`{|}", r) && !(r == '#' && i > 0) || r == '~' && i == 0 {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func printfUtility(c *call) int {
	args := c.args
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		fmt.Fprintln(c.err, "printf: usage: printf [-v var] format [arguments]")
		return 2
	}
	f := formatter{args: args[1:]}
	f.format(args[0])
	c.print(f.out.String())
	for _, e := range f.errors {
		fmt.Fprintln(c.err, "printf: "+e)
	}
	return min(len(f.errors), 1)
}
