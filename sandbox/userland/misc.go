package main

import (
	"bufio"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/benhoyt/goawk/interp"
	"github.com/benhoyt/goawk/parser"
)

func basename(c *call) int {
	o, names := c.parseUntil("a|multiple s|suffix= z", true)
	if len(names) == 0 {
		c.usage("missing operand")
	}
	suffix := o.last("s", "")
	if !o.has("a") && !o.has("s") {
		if len(names) > 1 {
			suffix = names[1]
		}
		names = names[:1]
	}
	for _, name := range names {
		if name = path.Base(name); name != suffix {
			name = strings.TrimSuffix(name, suffix)
		}
		c.print(name, "\n")
	}
	return 0
}

func dirname(c *call) int {
	_, names := c.parse("z")
	if len(names) == 0 {
		c.usage("missing operand")
	}
	for _, name := range names {
		trimmed := strings.TrimRight(name, "/")
		switch k := strings.LastIndexByte(trimmed, '/'); {
		case trimmed == "" && name != "", k == 0:
			name = "/"
		case k < 0:
			name = "."
		default:
			name = strings.TrimRight(trimmed[:k], "/")
		}
		c.print(name, "\n")
	}
	return 0
}

func seq(c *call) int {
	// Negative numbers look like options.
	o, rest := options{}, []string{}
	for i := 0; i < len(c.args); i++ {
		switch a := c.args[i]; {
		case a == "-w" || a == "--equal-width":
			o["w"] = []string{""}
		case (a == "-s" || a == "-f") && i+1 < len(c.args):
			i++
			o[a[1:]] = []string{c.args[i]}
		case strings.HasPrefix(a, "-s") || strings.HasPrefix(a, "-f"):
			o[a[1:2]] = []string{a[2:]}
		default:
			rest = append(rest, a)
		}
	}
	numbers, digits := []float64{1, 1, 1}, 0
	for i, a := range rest {
		v, err := strconv.ParseFloat(a, 64)
		if err != nil {
			c.usage("invalid floating point argument: %s", "‘"+a+"’")
		}
		if _, fraction, ok := strings.Cut(a, "."); ok && i != len(rest)-1 || ok && len(rest) == 1 {
			digits = max(digits, len(fraction))
		}
		switch {
		case i == len(rest)-1:
			numbers[2] = v
		case i == 0:
			numbers[0] = v
		default:
			numbers[1] = v
		}
	}
	if len(rest) == 0 {
		c.usage("missing operand")
	}
	if numbers[1] == 0 {
		c.usage("invalid Zero increment value: %s", "‘"+rest[1]+"’")
	}
	format := fmt.Sprintf("%%.%df", digits)
	if o.has("w") {
		width := max(len(fmt.Sprintf(format, numbers[0])), len(fmt.Sprintf(format, numbers[2])))
		format = fmt.Sprintf("%%0%d.%df", width, digits)
	}
	format = o.last("f", format)
	count := int(math.Floor((numbers[2]-numbers[0])/numbers[1] + 1e-9))
	for i := 0; i <= count; i++ {
		if i > 0 {
			c.print(o.last("s", "\n"))
		}
		c.printf(format, numbers[0]+float64(i)*numbers[1])
	}
	if count >= 0 {
		c.print("\n")
	}
	return 0
}

func yes(c *call) int {
	text := "y"
	if len(c.args) > 0 {
		text = strings.Join(c.args, " ")
	}
	for {
		c.print(text, "\n")
	}
}

func sleep(c *call) int {
	total := time.Duration(0)
	for _, a := range c.args {
		d, ok := seconds(a)
		if !ok {
			c.usage("invalid time interval %s", "‘"+a+"’")
		}
		total += d
	}
	time.Sleep(total)
	return 0
}

// seconds reads a duration such as 1.5 or 2m.
func seconds(text string) (time.Duration, bool) {
	unit := time.Second
	if text != "" {
		if u, ok := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}[text[len(text)-1]]; ok {
			unit, text = u, text[:len(text)-1]
		}
	}
	v, err := strconv.ParseFloat(text, 64)
	return time.Duration(v * float64(unit)), err == nil && v >= 0
}

// timeout runs a command. Programs run on fuel, so that its limit never passes.
func timeout(c *call) int {
	_, rest := c.parseUntil("s|signal= k|kill-after= preserve-status foreground v|verbose", true)
	if len(rest) < 2 {
		c.usage("missing operand")
	}
	return c.run(c, rest[1:])
}

// follow runs the rest of the arguments as a command.
func follow(spec string) utility {
	return func(c *call) int {
		_, rest := c.parseUntil(spec, true)
		if len(rest) == 0 {
			return 0
		}
		return c.run(c, rest)
	}
}

func env(c *call) int {
	o, rest := c.parseUntil("i|ignore-environment u|unset= 0|null C|chdir= S= v", true)
	child := *c
	if o.has("i") {
		child.environ = nil
	}
	if o.has("S") {
		rest = append(strings.Fields(o.last("S", "")), rest...)
	}
	if o.has("C") {
		child.dir = c.path(o.last("C", ""))
	}
	set := func(name, value string, remove bool) {
		child.environ = slices.DeleteFunc(slices.Clone(child.environ), func(p string) bool { return strings.HasPrefix(p, name+"=") })
		if !remove {
			child.environ = append(child.environ, name+"="+value)
		}
	}
	for _, name := range o["u"] {
		set(name, "", true)
	}
	for len(rest) > 0 {
		name, value, ok := strings.Cut(rest[0], "=")
		if !ok {
			break
		}
		set(name, value, false)
		rest = rest[1:]
	}
	if len(rest) > 0 {
		return c.run(&child, rest)
	}
	for _, pair := range child.environ {
		c.print(pair, map[bool]string{true: "\x00", false: "\n"}[o.has("0")])
	}
	return 0
}

func printenv(c *call) int {
	if len(c.args) == 0 {
		return env(c)
	}
	status := 0
	for _, name := range c.args {
		k := slices.IndexFunc(c.environ, func(p string) bool { return strings.HasPrefix(p, name+"=") })
		if k < 0 {
			status = 1
			continue
		}
		c.print(c.environ[k][len(name)+1:], "\n")
	}
	return status
}

func id(c *call) int {
	o, _ := c.parse("u|user g|group G|groups n|name r")
	switch {
	case o.has("u") || o.has("g") || o.has("G"):
		c.print(map[bool]string{true: "root", false: "0"}[o.has("n")], "\n")
	default:
		c.print("uid=0(root) gid=0(root) groups=0(root)\n")
	}
	return 0
}

// says is a utility that prints a text.
func says(text string) utility {
	return func(c *call) int { c.print(text, "\n"); return 0 }
}

func uname(c *call) int {
	o, _ := c.parse("a|all s|kernel-name n|nodename r|kernel-release v|kernel-version m|machine p|processor i|hardware-platform o|operating-system")
	parts := []string{}
	for _, p := range [][2]string{{"s", "Linux"}, {"n", "merit"}, {"r", "6.8.0-merit"}, {"v", "#1 SMP"}, {"m", "x86_64"}, {"p", "x86_64"}, {"i", "x86_64"}, {"o", "GNU/Linux"}} {
		if o.has(p[0]) || o.has("a") || len(o) == 0 && p[0] == "s" {
			parts = append(parts, p[1])
		}
	}
	c.print(strings.Join(parts, " "), "\n")
	return 0
}

func hostname(c *call) int {
	name, err := os.ReadFile("/etc/hostname")
	if err != nil {
		name = []byte("merit\n")
	}
	c.print(string(name))
	return 0
}

func awk(c *call) int {
	o, rest := c.parseUntil("F|field-separator= v|assign= f|file= version", true)
	var source string
	for _, name := range o["f"] {
		r, err := c.open(name)
		if err != nil {
			c.fail("can't open file %s: %s", name, err)
			return 2
		}
		data, _ := io.ReadAll(r)
		r.Close()
		source += string(data) + "\n"
	}
	if !o.has("f") {
		if len(rest) == 0 {
			c.print("usage: awk [-F fs][-v var=value][prog | -f progfile][file ...]\n")
			return 2
		}
		source, rest = rest[0], rest[1:]
	}
	program, err := parser.ParseProgram([]byte(source), nil)
	if err != nil {
		c.fail("%s", err)
		return 2
	}
	var vars []string
	if o.has("F") {
		fs := o.last("F", "")
		if fs == "t" {
			fs = "\t"
		}
		vars = append(vars, "FS", fs)
	}
	for _, assignment := range o["v"] {
		name, value, _ := strings.Cut(assignment, "=")
		vars = append(vars, name, unescape(value))
	}
	var environ []string
	for _, pair := range c.environ {
		name, value, _ := strings.Cut(pair, "=")
		environ = append(environ, name, value)
	}
	status, err := interp.ExecProgram(program, &interp.Config{Stdin: c.in, Output: c.out, Error: c.err, Argv0: "awk", Args: rest, Vars: vars, Environ: environ, Dir: c.dir, Execute: c.command})
	if err != nil {
		c.fail("%s", err)
		return 2
	}
	return status
}

// command runs a command line of awk.
func (c *call) command(code string, stdin io.Reader, stdout, stderr io.Writer) int {
	child := *c
	child.out, child.err = stdout, stderr
	if f, ok := stdin.(*os.File); ok {
		child.in = f
	} else if stdin != nil {
		read, write, err := os.Pipe()
		if err != nil {
			return c.fail("%s", err)
		}
		defer read.Close()
		go func() {
			_, _ = io.Copy(write, stdin)
			write.Close()
		}()
		child.in = read
	}
	if w, ok := stdout.(*bufio.Writer); ok {
		defer w.Flush()
	}
	return c.run(&child, []string{"sh", "-c", code})
}

// sum is md5sum and its kind.
func sum(make func() hash.Hash) utility {
	return func(c *call) int {
		o, names := c.parse("c|check b|binary t|text quiet status w|warn strict ignore-missing tag z")
		if len(names) == 0 {
			names = []string{"-"}
		}
		digest := func(name string) (string, error) {
			r, err := c.open(name)
			if err != nil {
				return "", err
			}
			defer r.Close()
			h := make()
			_, _ = io.Copy(h, r)
			return hex.EncodeToString(h.Sum(nil)), nil
		}
		status := 0
		for _, name := range names {
			if o.has("c") {
				status = max(status, c.check(name, o, digest))
				continue
			}
			d, err := digest(name)
			if err != nil {
				status = c.fail("%s: %s", name, err)
				continue
			}
			c.print(d, "  ", name, "\n")
		}
		return status
	}
}

// check compares files with a list of digests.
func (c *call) check(list string, o options, digest func(string) (string, error)) int {
	r, err := c.open(list)
	if err != nil {
		return c.fail("%s: %s", list, err)
	}
	defer r.Close()
	wrong, missing := 0, 0
	for line := range lines(r) {
		want, name, ok := strings.Cut(bare(line), " ")
		if !ok {
			continue
		}
		name = strings.TrimLeft(name, " *")
		got, err := digest(name)
		switch {
		case err != nil:
			c.fail("%s: %s", name, err)
			if missing++; !o.has("status") {
				c.print(name, ": FAILED open or read\n")
			}
		case got != want:
			if wrong++; !o.has("status") {
				c.print(name, ": FAILED\n")
			}
		case !o.has("status") && !o.has("quiet"):
			c.print(name, ": OK\n")
		}
	}
	if wrong > 0 {
		c.fail("WARNING: %d computed checksum%s did NOT match", wrong, map[bool]string{true: "s", false: ""}[wrong > 1])
	}
	return min(wrong+missing, 1)
}

func base64Utility(c *call) int {
	o, names := c.parse("d|decode i|ignore-garbage w|wrap=")
	width := int(c.sized(o.last("w", "76"), "wrap size"))
	status := 0
	failed := c.each(names, func(_ string, r io.Reader) {
		data, _ := io.ReadAll(r)
		if o.has("d") {
			text := strings.Map(func(r rune) rune {
				if r == '\n' || r == '\r' {
					return -1
				}
				return r
			}, string(data))
			out, err := base64.StdEncoding.DecodeString(text)
			c.print(string(out))
			if err != nil {
				status = c.fail("invalid input")
			}
			return
		}
		text := base64.StdEncoding.EncodeToString(data)
		for width > 0 && len(text) > width {
			c.print(text[:width], "\n")
			text = text[width:]
		}
		c.print(text)
		if width > 0 && text != "" {
			c.print("\n")
		}
	})
	return max(status, failed)
}

func xxd(c *call) int {
	o, names := c.parse("p|ps|plain r|revert l= c= s= u g= i")
	return c.each(names[:min(1, len(names))], func(_ string, r io.Reader) {
		data, _ := io.ReadAll(r)
		if o.has("r") {
			text := strings.Join(strings.Fields(string(data)), "")
			out, _ := hex.DecodeString(text)
			c.print(string(out))
			return
		}
		if o.has("s") {
			data = data[min(len(data), int(c.sized(o.last("s", "0"), "offset"))):]
		}
		if o.has("l") {
			data = data[:min(len(data), int(c.sized(o.last("l", "0"), "length")))]
		}
		width := int(c.sized(o.last("c", map[bool]string{true: "30", false: "16"}[o.has("p")]), "columns"))
		for at := 0; at < len(data); at += width {
			row := data[at:min(at+width, len(data))]
			if o.has("p") {
				c.print(hex.EncodeToString(row), "\n")
				continue
			}
			cells, text := "", ""
			for i := range width {
				if i < len(row) {
					cells += fmt.Sprintf("%02x", row[i])
					if row[i] >= 32 && row[i] < 127 {
						text += string(row[i])
					} else {
						text += "."
					}
				} else {
					cells += "  "
				}
				if i%2 == 1 {
					cells += " "
				}
			}
			c.printf("%08x: %s %s\n", at, cells, text)
		}
	})
}

func od(c *call) int {
	o, names := c.parse("A|address-radix= t|format= c x o b N|read-bytes= v j= w=? a d")
	kind := o.last("t", "o2")
	for flag, k := range map[string]string{"c": "c", "x": "x2", "b": "o1", "o": "o2", "d": "u2"} {
		if o.has(flag) {
			kind = k
		}
	}
	address := map[string]string{"d": "%07d", "o": "%07o", "x": "%06x", "n": ""}[o.last("A", "o")]
	var data []byte
	status := c.each(names, func(_ string, r io.Reader) { b, _ := io.ReadAll(r); data = append(data, b...) })
	if o.has("N") {
		data = data[:min(len(data), int(c.sized(o.last("N", ""), "length")))]
	}
	offset := func(at int) {
		if address != "" {
			c.printf(address, at)
		}
	}
	for at := 0; at < len(data); at += 16 {
		offset(at)
		row := data[at:min(at+16, len(data))]
		if kind == "c" {
			for _, b := range row {
				cell := string(rune(b))
				switch {
				case b == 0:
					cell = `\0`
				case strings.IndexByte("\a\b\f\n\r\t\v", b) >= 0:
					cell = strconv.Quote(string(rune(b)))[1:3]
				case b < 32 || b > 126:
					cell = fmt.Sprintf("%03o", b)
				}
				c.printf("%4s", cell)
			}
		} else {
			size := 4
			if n, err := strconv.Atoi(kind[1:]); err == nil {
				size = n
			}
			for k := 0; k < len(row); k += size {
				v := uint64(0)
				for j := min(size, len(row)-k) - 1; j >= 0; j-- {
					v = v<<8 | uint64(row[k+j])
				}
				switch kind[0] {
				case 'x':
					c.printf(" %0*x", 2*size, v)
				case 'o':
					c.printf(" %0*o", map[int]int{1: 3, 2: 6, 4: 11, 8: 22}[size], v)
				default:
					c.printf(" %*d", map[int]int{1: 3, 2: 5, 4: 10, 8: 20}[size], v)
				}
			}
		}
		c.print("\n")
	}
	if address != "" {
		offset(len(data))
		c.print("\n")
	}
	return status
}

func expr(c *call) int {
	e := &expression{c: c, args: c.args}
	v := e.or()
	if len(e.args) > 0 || len(c.args) == 0 {
		c.fail("syntax error: unexpected argument %s", "‘"+strings.Join(e.args[:min(1, len(e.args))], "")+"’")
		return 2
	}
	c.print(v, "\n")
	if v == "" || v == "0" {
		return 1
	}
	return 0
}

// expression is an expression of expr.
type expression struct {
	c    *call
	args []string
}

func (e *expression) next(ops ...string) string {
	if len(e.args) > 0 && slices.Contains(ops, e.args[0]) {
		op := e.args[0]
		e.args = e.args[1:]
		return op
	}
	return ""
}

func (e *expression) or() string {
	v := e.and()
	for e.next("|") != "" {
		if w := e.and(); v == "" || v == "0" {
			v = w
		}
	}
	return v
}

func (e *expression) and() string {
	v := e.comparison()
	for e.next("&") != "" {
		if w := e.comparison(); v == "" || v == "0" || w == "" || w == "0" {
			v = "0"
		}
	}
	return v
}

func (e *expression) comparison() string {
	v := e.sum()
	for op := e.next("<", "<=", "=", "==", "!=", ">=", ">"); op != ""; op = e.next("<", "<=", "=", "==", "!=", ">=", ">") {
		w := e.sum()
		d := strings.Compare(v, w)
		if a, err := strconv.ParseInt(v, 10, 64); err == nil {
			if b, err := strconv.ParseInt(w, 10, 64); err == nil {
				d = map[bool]int{true: -1, false: map[bool]int{true: 1, false: 0}[a > b]}[a < b]
			}
		}
		ok := map[string]bool{"<": d < 0, "<=": d <= 0, "=": d == 0, "==": d == 0, "!=": d != 0, ">=": d >= 0, ">": d > 0}[op]
		v = map[bool]string{true: "1", false: "0"}[ok]
	}
	return v
}

func (e *expression) integer(v string) int64 {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		e.c.fail("non-integer argument")
		panic(exit(2))
	}
	return n
}

func (e *expression) sum() string {
	v := e.product()
	for op := e.next("+", "-"); op != ""; op = e.next("+", "-") {
		a, b := e.integer(v), e.integer(e.product())
		if op == "-" {
			b = -b
		}
		v = strconv.FormatInt(a+b, 10)
	}
	return v
}

func (e *expression) product() string {
	v := e.match()
	for op := e.next("*", "/", "%"); op != ""; op = e.next("*", "/", "%") {
		a, b := e.integer(v), e.integer(e.match())
		switch {
		case op == "*":
			a *= b
		case b == 0:
			e.c.fail("division by zero")
			panic(exit(2))
		case op == "/":
			a /= b
		default:
			a %= b
		}
		v = strconv.FormatInt(a, 10)
	}
	return v
}

func (e *expression) match() string {
	v := e.atom()
	for e.next(":") != "" {
		v = e.matched(v, e.atom())
	}
	return v
}

func (e *expression) matched(text, p string) string {
	m, err := pattern{dialect: basic}.compile(`^\(` + p + `\)`)
	if err != nil {
		e.c.fail("%s", err)
		panic(exit(2))
	}
	f := m.find(text, 0)
	switch {
	case m.groups() > 1 && f != nil && f[4] >= 0:
		return text[f[4]:f[5]]
	case m.groups() > 1:
		return ""
	case f != nil:
		return strconv.Itoa(len([]rune(text[f[0]:f[1]])))
	}
	return "0"
}

func (e *expression) atom() string {
	if len(e.args) == 0 {
		e.c.fail("syntax error: missing argument")
		panic(exit(2))
	}
	v := e.args[0]
	e.args = e.args[1:]
	switch {
	case v == "(":
		v = e.or()
		if e.next(")") == "" {
			e.c.fail("syntax error: expecting ')'")
			panic(exit(2))
		}
	case v == "length" && len(e.args) > 0:
		v = strconv.Itoa(len([]rune(e.atom())))
	case v == "match" && len(e.args) > 1:
		text := e.atom()
		v = e.matched(text, e.atom())
	case v == "index" && len(e.args) > 1:
		text := e.atom()
		v = strconv.Itoa(strings.IndexAny(text, e.atom()) + 1)
	case v == "substr" && len(e.args) > 2:
		text := []rune(e.atom())
		from, size := int(e.integer(e.atom())), int(e.integer(e.atom()))
		if from < 1 || from > len(text) || size < 1 {
			return ""
		}
		v = string(text[from-1 : min(len(text), from-1+size)])
	case v == "+" && len(e.args) > 0:
		v = e.atom()
	}
	return v
}

func splitUtility(c *call) int {
	o, names := c.parse("l|lines= b|bytes= n|number= d|numeric-suffixes=? a|suffix-length= additional-suffix= C= verbose e x")
	prefix := "x"
	if len(names) > 1 {
		prefix = names[1]
	}
	if len(names) == 0 {
		names = []string{"-"}
	}
	r, err := c.open(names[0])
	if err != nil {
		c.fail("cannot open %s for reading: %s", quote(names[0]), err)
		return 1
	}
	defer r.Close()
	data, _ := io.ReadAll(r)
	var parts []string
	switch {
	case o.has("b"):
		size := int(c.sized(o.last("b", ""), "number of bytes"))
		for text := string(data); text != ""; text = text[min(size, len(text)):] {
			parts = append(parts, text[:min(size, len(text))])
		}
	case o.has("n"):
		n := int(c.sized(o.last("n", ""), "number of chunks"))
		for i := range n {
			parts = append(parts, string(data[i*(len(data)/n):map[bool]int{true: len(data), false: (i + 1) * (len(data) / n)}[i == n-1]]))
		}
	default:
		most, count := int(c.sized(o.last("l", "1000"), "number of lines")), 0
		for line := range lines(strings.NewReader(string(data))) {
			if count%most == 0 {
				parts = append(parts, "")
			}
			parts[len(parts)-1] += line
			count++
		}
	}
	width := int(c.sized(o.last("a", "2"), "suffix length"))
	for i, text := range parts {
		suffix := ""
		for k, n := 0, i; k < width; k++ {
			if o.has("d") {
				suffix, n = string(rune('0'+n%10))+suffix, n/10
			} else {
				suffix, n = string(rune('a'+n%26))+suffix, n/26
			}
		}
		if err := os.WriteFile(c.path(prefix+suffix+o.last("additional-suffix", "")), []byte(text), 0o644); err != nil {
			return c.fail("%s: %s", prefix+suffix, err)
		}
	}
	return 0
}

func shuf(c *call) int {
	o, names := c.parse("n|head-count= e|echo i|input-range= o= r z random-source=")
	var all []string
	switch {
	case o.has("e"):
		all = names
	case o.has("i"):
		from, to, _ := strings.Cut(o.last("i", ""), "-")
		for n := c.sized(from, "input range"); n <= c.sized(to, "input range"); n++ {
			all = append(all, strconv.FormatInt(n, 10))
		}
	default:
		c.each(names, func(_ string, r io.Reader) {
			for line := range lines(r) {
				all = append(all, bare(line))
			}
		})
	}
	random := randomSource()
	for i := len(all) - 1; i > 0; i-- {
		j := int(random() % uint64(i+1))
		all[i], all[j] = all[j], all[i]
	}
	if o.has("n") {
		all = all[:min(len(all), int(c.sized(o.last("n", ""), "line count")))]
	}
	for _, line := range all {
		c.print(line, "\n")
	}
	return 0
}

// randomSource returns random numbers of the machine.
func randomSource() func() uint64 {
	f, err := os.Open("/dev/urandom")
	if err != nil {
		return func() uint64 { return 4 }
	}
	r := bufio.NewReader(f)
	return func() (v uint64) {
		for range 8 {
			b, _ := r.ReadByte()
			v = v<<8 | uint64(b)
		}
		return v
	}
}

func dd(c *call) int {
	o := map[string]string{"bs": "512"}
	for _, a := range c.args {
		name, value, ok := strings.Cut(a, "=")
		if !ok {
			c.usage("unrecognized operand %s", "‘"+a+"’")
		}
		o[name] = value
	}
	size := c.sized(o["bs"], "number")
	var in io.Reader = c.in
	if name := o["if"]; name != "" {
		f, err := os.Open(c.path(name))
		if err != nil {
			return c.fail("failed to open %s: %s", quote(name), err)
		}
		defer f.Close()
		in = f
	}
	if o["skip"] != "" {
		_, _ = io.CopyN(io.Discard, in, size*c.sized(o["skip"], "number"))
	}
	if o["count"] != "" {
		in = io.LimitReader(in, size*c.sized(o["count"], "number"))
	}
	out := c.out
	if name := o["of"]; name != "" {
		mode := os.O_WRONLY | os.O_CREATE
		if !strings.Contains(o["conv"], "notrunc") && o["seek"] == "" {
			mode |= os.O_TRUNC
		}
		f, err := os.OpenFile(c.path(name), mode, 0o644)
		if err != nil {
			return c.fail("failed to open %s: %s", quote(name), err)
		}
		defer f.Close()
		if o["seek"] != "" {
			_, _ = f.Seek(size*c.sized(o["seek"], "number"), io.SeekStart)
		}
		out = f
	}
	n, err := io.Copy(out, in)
	if o["status"] != "none" {
		partial := 0
		if n%size != 0 {
			partial = 1
		}
		fmt.Fprintf(c.err, "%d+%d records in\n%d+%d records out\n", n/size, partial, n/size, partial)
		if o["status"] != "noxfer" {
			fmt.Fprintf(c.err, "%d bytes copied, 0.000001 s\n", n)
		}
	}
	if err != nil {
		return c.fail("error writing: %s", err)
	}
	return 0
}

func truncateUtility(c *call) int {
	o, names := c.parse("s|size= c|no-create r=")
	text := o.last("s", "0")
	for _, name := range names {
		info, err := os.Stat(c.path(name))
		if err != nil && o.has("c") {
			continue
		}
		if err != nil {
			if err := os.WriteFile(c.path(name), nil, 0o644); err != nil {
				return c.fail("cannot open %s for writing: %s", quote(name), err)
			}
		}
		size := c.sized(strings.TrimLeft(text, "+-<>/%"), "number")
		if info != nil && text[0] == '+' {
			size += info.Size()
		} else if info != nil && text[0] == '-' {
			size = max(0, info.Size()-size)
		}
		if err := os.Truncate(c.path(name), size); err != nil {
			return c.fail("failed to truncate %s: %s", quote(name), err)
		}
	}
	return 0
}

var (
	md5sum    = sum(md5.New)
	sha1sum   = sum(sha1.New)
	sha224sum = sum(sha256.New224)
	sha256sum = sum(sha256.New)
	sha384sum = sum(sha512.New384)
	sha512sum = sum(sha512.New)
)

func column(c *call) int {
	o, names := c.parse("t|table s|separator= o|output-separator= N|table-columns= c|output-width= R= n e")
	var rows [][]string
	var widths []int
	add := func(cells []string) {
		rows = append(rows, cells)
		for i, cell := range cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	if o.has("N") {
		add(strings.Split(o.last("N", ""), ","))
	}
	status := c.each(names, func(_ string, r io.Reader) {
		for line := range lines(r) {
			line = bare(line)
			switch {
			case line == "":
			case !o.has("t"):
				add([]string{line})
			case o.has("s"):
				add(strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(o.last("s", ""), r) }))
			default:
				add(strings.Fields(line))
			}
		}
	})
	between := o.last("o", "  ")
	for _, cells := range rows {
		for i, cell := range cells {
			c.print(cell)
			if i < len(cells)-1 {
				c.print(strings.Repeat(" ", widths[i]-len([]rune(cell))), between)
			}
		}
		c.print("\n")
	}
	return status
}
