package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// address selects lines of sed.
type address struct {
	line, step int // step of first~step; -1 if there is none
	last       bool
	match      matcher
	plus       int // of addr1,+N; 0 if none
	zero       bool
}

// instruction is one command of sed.
type instruction struct {
	from, to *address
	not      bool
	name     byte
	text     string // of a, i, c, r, w, y, labels
	match    matcher
	replace  string
	global   bool
	print    bool
	nth      int
	write    string
	jump     int // of b, t, T, {
	active   bool
	until    int
}

type editor struct {
	*call
	program []*instruction
	quiet   bool
	end     byte // of lines
	loose   bool // -E
	separate,
	inPlace bool
	number   int
	space    string
	hold     string
	replaced bool
	appended []string
	outputs  map[string]*os.File
	to       io.Writer
	input    *input
	status   int
	previous matcher
}

// input yields the lines of several files, and knows which is the last.
type input struct {
	c      *call
	names  []string
	reader *bufio.Reader
	closer io.Closer
	ahead  string
	some   bool
	status int
	ended  bool // the last line had a newline
	end    byte // of lines: a newline, or NUL with -z
}

func (in *input) fill() bool {
	for !in.some {
		if in.reader == nil {
			if len(in.names) == 0 {
				return false
			}
			name := in.names[0]
			in.names = in.names[1:]
			r, err := in.c.open(name)
			if err != nil {
				in.status = 2
				in.c.fail("can't read %s: %s", name, err)
				continue
			}
			in.reader, in.closer = bufio.NewReaderSize(r, 1<<16), r
		}
		line, err := in.reader.ReadString(in.end)
		if line == "" && err != nil {
			in.closer.Close()
			in.reader = nil
			continue
		}
		in.ahead, in.some = line, true
	}
	return true
}

func (in *input) next() (string, bool) {
	if !in.fill() {
		return "", false
	}
	in.some = false
	in.ended = strings.HasSuffix(in.ahead, string(in.end))
	return strings.TrimSuffix(in.ahead, string(in.end)), true
}

func sed(c *call) int {
	o, rest := c.parse("n|quiet|silent e|expression= f|file= E|regexp-extended r i|in-place=? s|separate u|unbuffered z|null-data posix debug l=")
	script := strings.Join(o["e"], "\n")
	for _, name := range o["f"] {
		r, err := c.open(name)
		if err != nil {
			c.fail("couldn't open file %s: %s", name, err)
			return 1
		}
		data, _ := io.ReadAll(r)
		r.Close()
		script += "\n" + string(data)
	}
	if !o.has("e") && !o.has("f") {
		if len(rest) == 0 {
			c.usage("no script specified")
		}
		script, rest = rest[0], rest[1:]
	}
	e := &editor{call: c, quiet: o.has("n"), end: '\n', loose: o.has("E") || o.has("r"), outputs: map[string]*os.File{}, to: c.out}
	if o.has("z") {
		e.end = 0
	}
	if strings.HasPrefix(script, "#n\n") {
		e.quiet = true
	}
	e.parseScript(script)
	defer func() {
		for _, f := range e.outputs {
			f.Close()
		}
	}()
	if !o.has("i") {
		if len(rest) == 0 {
			rest = []string{"-"}
		}
		if !o.has("s") {
			return e.edit(rest)
		}
	}
	for _, name := range rest {
		if status := e.editFile(name, o); status != 0 {
			e.status = status
		}
	}
	return e.status
}

// editFile edits one file alone, in place if that is wanted.
func (e *editor) editFile(name string, o options) int {
	e.number, e.hold = 0, ""
	if !o.has("i") {
		return e.edit([]string{name})
	}
	info, err := os.Stat(e.path(name))
	if err != nil {
		e.fail("can't read %s: %s", name, err)
		return 4
	}
	if !info.Mode().IsRegular() {
		e.fail("couldn't edit %s: not a regular file", name)
		return 4
	}
	scratch := e.path(name) + ".sed~"
	f, err := os.Create(scratch)
	if err != nil {
		e.fail("couldn't open temporary file %s: %s", scratch, err)
		return 4
	}
	w := bufio.NewWriter(f)
	e.to = w
	status := e.edit([]string{name})
	w.Flush()
	f.Close()
	_ = os.Chmod(scratch, info.Mode().Perm())
	if suffix := o.last("i", ""); suffix != "" {
		backup := name + suffix
		if strings.Contains(suffix, "*") {
			backup = strings.ReplaceAll(suffix, "*", name)
		}
		_ = os.Rename(e.path(name), e.path(backup))
	}
	if err := os.Rename(scratch, e.path(name)); err != nil {
		e.fail("cannot rename %s: %s", scratch, err)
		return 4
	}
	return status
}

func (e *editor) write(text string) {
	if _, err := io.WriteString(e.to, text); err != nil {
		panic(exit(e.unwritten(err)))
	}
}

// edit runs the program over the lines of files.
func (e *editor) edit(names []string) int {
	e.input = &input{c: e.call, names: names, end: e.end}
	for {
		line, ok := e.input.next()
		if !ok {
			return e.input.status
		}
		e.space = line
		e.number++
		for again := true; again; {
			var quit bool
			again, quit = e.cycle()
			if quit {
				return max(e.status, e.input.status)
			}
		}
	}
}

// finish ends a cycle: it prints the space and what was appended.
func (e *editor) finish(show bool) {
	end := string(e.end)
	if !e.input.ended && !e.input.fill() {
		end = ""
	}
	if show && !e.quiet {
		if e.write(e.space); end != "" || len(e.appended) > 0 {
			e.write(string(e.end))
		}
	}
	for _, text := range e.appended {
		e.write(text)
	}
	e.appended = e.appended[:0]
}

// selects reports whether an instruction applies to the current line.
func (e *editor) selects(i *instruction) bool {
	if i.from == nil {
		return true
	}
	if i.to == nil {
		return e.at(i.from)
	}
	if !i.active {
		if i.from.zero && e.number == 1 {
			i.active = true
			if i.to.match != nil && e.at(i.to) {
				i.active = false
			}
			return true
		}
		if !e.at(i.from) {
			return false
		}
		i.active = true
		switch {
		case i.to.plus >= 0 && i.to.line < 0 && i.to.match == nil && !i.to.last:
			i.until = e.number + i.to.plus
			i.active = i.to.plus > 0
		case i.to.line >= 0 && i.to.step < 0:
			i.active = i.to.line > e.number
		}
		return true
	}
	switch {
	case i.to.match == nil && i.to.line < 0 && !i.to.last:
		i.active = e.number < i.until
	case i.to.line >= 0:
		i.active = e.number < i.to.line
		if e.number > i.to.line {
			return e.at(i.from)
		}
	default:
		i.active = !e.at(i.to)
	}
	return true
}

func (e *editor) at(a *address) bool {
	switch {
	case a.last:
		return !e.input.fill()
	case a.match != nil:
		return e.regex(a.match).find(e.space, 0) != nil
	case a.step > 0:
		return e.number >= a.line && (e.number-a.line)%a.step == 0
	}
	return e.number == a.line
}

// sameAgain stands for the empty pattern: the one that was used last.
type sameAgain struct{}

func (sameAgain) find(string, int) []int { return nil }
func (sameAgain) groups() int            { return 9 }

func (e *editor) regex(m matcher) matcher {
	if _, ok := m.(sameAgain); ok && e.previous != nil {
		return e.previous
	}
	e.previous = m
	return m
}

// cycle runs the program once. again means that it starts again without a new line.
func (e *editor) cycle() (again, quit bool) {
	e.replaced = false
	for at := 0; at < len(e.program); at++ {
		i := e.program[at]
		if e.selects(i) == i.not {
			if i.name == '{' {
				at = i.jump
			}
			continue
		}
		switch i.name {
		case '{', '}', ':', '#':
		case 'b':
			at = i.jump
		case 't', 'T':
			if e.replaced == (i.name == 't') {
				at = i.jump
			}
			e.replaced = false
		case 'd':
			e.finish(false)
			return false, false
		case 'D':
			_, rest, found := strings.Cut(e.space, "\n")
			if e.finish(false); !found {
				return false, false
			}
			e.space = rest
			return true, false
		case 'n':
			if !e.input.fill() {
				e.finish(true)
				return false, true
			}
			e.finish(true)
			e.space, _ = e.input.next()
			e.number++
		case 'N':
			if !e.input.fill() {
				e.finish(true)
				return false, true
			}
			for _, text := range e.appended {
				e.write(text)
			}
			e.appended = e.appended[:0]
			line, _ := e.input.next()
			e.space += "\n" + line
			e.number++
		case 'q', 'Q':
			e.status, _ = strconv.Atoi(cmpOr(i.text, "0"))
			e.finish(i.name == 'q')
			return false, true
		case 'c':
			if i.to == nil || !i.active || i.not {
				e.write(i.text + "\n")
			}
			e.finish(false)
			return false, false
		default:
			e.execute(i)
		}
	}
	e.finish(true)
	return false, false
}

func cmpOr(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

// execute runs an instruction that does not change the flow.
func (e *editor) execute(i *instruction) {
	switch i.name {
	case 's':
		e.substitute(i)
	case 'p':
		e.write(e.space + "\n")
	case 'P':
		first, _, _ := strings.Cut(e.space, "\n")
		e.write(first + "\n")
	case 'a':
		e.appended = append(e.appended, i.text+"\n")
	case 'i':
		e.write(i.text + "\n")
	case '=':
		e.write(strconv.Itoa(e.number) + "\n")
	case 'h':
		e.hold = e.space
	case 'H':
		e.hold += "\n" + e.space
	case 'g':
		e.space = e.hold
	case 'G':
		e.space += "\n" + e.hold
	case 'x':
		e.space, e.hold = e.hold, e.space
	case 'y':
		from, to := []rune(i.text), []rune(i.replace)
		e.space = strings.Map(func(r rune) rune {
			if k := slices.Index(from, r); k >= 0 {
				return to[k]
			}
			return r
		}, e.space)
	case 'l':
		e.write(visible(e.space) + "$\n")
	case 'r':
		if data, err := os.ReadFile(e.path(i.text)); err == nil {
			e.appended = append(e.appended, string(data))
		}
	case 'w':
		e.emit(i.text, e.space+"\n")
	case 'z':
		e.space = ""
	case 'F':
		e.write("-\n")
	}
}

func visible(s string) string {
	q := strconv.QuoteToASCII(s)
	return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
}

// emit writes to a file that the program names.
func (e *editor) emit(name, text string) {
	switch name {
	case "/dev/stdout":
		e.write(text)
		return
	case "/dev/stderr":
		fmt.Fprint(e.err, text)
		return
	}
	if f := e.outputs[name]; f != nil {
		_, _ = f.WriteString(text)
	}
}

func (e *editor) substitute(i *instruction) {
	var b strings.Builder
	at, count := 0, 0
	all(e.regex(i.match), e.space, func(f []int) bool {
		if count++; count < i.nth {
			return true
		}
		b.WriteString(e.space[at:f[0]])
		b.WriteString(expandReplacement(i.replace, e.space, f))
		at = f[1]
		return i.global
	})
	if count == 0 || count < i.nth {
		return
	}
	b.WriteString(e.space[at:])
	e.space, e.replaced = b.String(), true
	if i.print {
		e.write(e.space + "\n")
	}
	if i.write != "" {
		e.emit(i.write, e.space+"\n")
	}
}

// numbered reads xHH, oNNN or dNNN, and returns its length.
func numbered(text string) (size int, b byte, ok bool) {
	base, most := map[byte]int{'x': 16, 'o': 8, 'd': 10}[text[0]], map[byte]int{'x': 2, 'o': 3, 'd': 3}[text[0]]
	for n := min(most, len(text)-1); n > 0; n-- {
		if v, err := strconv.ParseUint(text[1:1+n], base, 8); err == nil {
			return n + 1, byte(v), true
		}
	}
	return 0, 0, false
}

// expandReplacement fills in the groups of a match, and changes the case as \U and its kind say.
func expandReplacement(text, line string, f []int) string {
	var b strings.Builder
	mode, once := byte(0), byte(0)
	add := func(s string) {
		switch mode {
		case 'U':
			s = strings.ToUpper(s)
		case 'L':
			s = strings.ToLower(s)
		}
		if once != 0 && s != "" {
			r := []rune(s)
			if once == 'u' {
				s = strings.ToUpper(string(r[:1])) + string(r[1:])
			} else {
				s = strings.ToLower(string(r[:1])) + string(r[1:])
			}
			once = 0
		}
		b.WriteString(s)
	}
	group := func(n int) {
		if 2*n+1 < len(f) && f[2*n] >= 0 {
			add(line[f[2*n]:f[2*n+1]])
		}
	}
	for k := 0; k < len(text); k++ {
		switch {
		case text[k] == '&':
			group(0)
		case text[k] == '\\' && k+1 < len(text):
			k++
			switch x := text[k]; {
			case x >= '0' && x <= '9':
				group(int(x - '0'))
			case x == 'x' || x == 'o' || x == 'd':
				size, b, ok := numbered(text[k:])
				if !ok {
					add(string(x))
					break
				}
				add(string([]byte{b}))
				k += size - 1
			case x == 'n':
				add("\n")
			case x == 't':
				add("\t")
			case x == 'r':
				add("\r")
			case x == 'U' || x == 'L':
				mode = x
			case x == 'E':
				mode = 0
			case x == 'u' || x == 'l':
				once = x
			default:
				add(string(x))
			}
		default:
			end := k + 1
			for end < len(text) && text[end] != '&' && text[end] != '\\' {
				end++
			}
			add(text[k:end])
			k = end - 1
		}
	}
	return b.String()
}
