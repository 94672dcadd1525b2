package main

import (
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const grepOptions = "E|extended-regexp F|fixed-strings G|basic-regexp P|perl-regexp e|regexp= f|file= i|ignore-case y no-ignore-case v|invert-match w|word-regexp x|line-regexp " +
	"c|count l|files-with-matches L|files-without-match m|max-count= o|only-matching q|quiet|silent s|no-messages b|byte-offset H|with-filename h|no-filename n|line-number " +
	"A|after-context= B|before-context= C|context= r|recursive R|dereference-recursive include= exclude= exclude-dir= color=? colour=? a|text I binary-files= z|null-data Z|null U T|initial-tab line-buffered label="

// grepping is one call of grep.
type grepping struct {
	*call
	o             options
	patterns      []matcher
	before, after int
	most          int
	named         bool
	found         bool
	failed        bool
	separated     bool
}

func grep(c *call) int {
	for i, a := range c.args { // -5 is -C 5
		if len(a) > 1 && a[0] == '-' && strings.Trim(a[1:], "0123456789") == "" {
			c.args[i] = "-C" + a[1:]
		}
	}
	o, rest := c.parse(grepOptions)
	g := &grepping{call: c, o: o, most: -1}
	rest = g.compile(rest)
	context := o.last("C", "0")
	g.before, g.after = int(c.sized(o.last("B", context), "context length argument")), int(c.sized(o.last("A", context), "context length argument"))
	if o.has("m") {
		g.most = int(c.sized(o.last("m", ""), "max count"))
	}
	recursive := o.has("r") || o.has("R")
	if len(rest) == 0 && recursive {
		rest = []string{"."}
	} else if len(rest) == 0 {
		rest = []string{"-"}
	}
	g.named = (len(rest) > 1 || recursive || o.has("H")) && !o.has("h")
	for _, name := range rest {
		g.visit(name, recursive)
	}
	switch {
	case g.failed && !(g.found && o.has("q")):
		return 2
	case g.found:
		return 0
	}
	return 1
}

// compile compiles the patterns and returns the files.
func (g *grepping) compile(rest []string) []string {
	texts := slices.Clone(g.o["e"])
	for _, name := range g.o["f"] {
		r, err := g.open(name)
		if err != nil {
			g.fail("%s: %s", name, err)
			panic(exit(2))
		}
		for line := range lines(r) {
			texts = append(texts, bare(line))
		}
		r.Close()
	}
	if !g.o.has("e") && !g.o.has("f") {
		if len(rest) == 0 {
			g.print("Usage: grep [OPTION]... PATTERNS [FILE]...\n")
			panic(exit(2))
		}
		texts, rest = []string{rest[0]}, rest[1:]
	}
	p := pattern{dialect: basic, fold: g.o.has("i") || g.o.has("y"), words: g.o.has("w"), whole: g.o.has("x")}
	for name, d := range map[string]dialect{"E": extended, "F": fixed, "P": perl} {
		if g.o.has(name) || g.name == strings.ToLower(name)+"grep" {
			p.dialect = d
		}
	}
	for _, text := range texts {
		for _, line := range strings.Split(text, "\n") {
			m, err := p.compile(line)
			if err != nil {
				g.fail("%s", err)
				panic(exit(2))
			}
			g.patterns = append(g.patterns, m)
		}
	}
	return rest
}

// visit greps a file, or all files of a folder.
func (g *grepping) visit(name string, recursive bool) {
	info, err := os.Stat(g.path(name))
	switch {
	case name == "-":
	case err != nil:
		g.trouble(name, err)
		return
	case info.IsDir() && recursive:
		g.walk(name)
		return
	case info.IsDir():
		g.fail("%s: Is a directory", name)
		return
	}
	r, err := g.open(name)
	if err != nil {
		g.trouble(name, err)
		return
	}
	defer r.Close()
	if name == "-" {
		name = g.o.last("label", "(standard input)")
	}
	g.file(name, r)
}

func (g *grepping) trouble(name string, err error) {
	g.failed = true
	if !g.o.has("s") {
		g.fail("%s: %s", name, err)
	}
}

func (g *grepping) walk(root string) {
	_ = filepath.WalkDir(g.path(root), func(p string, d fs.DirEntry, err error) error {
		name := root
		if rel := strings.TrimPrefix(p, g.path(root)); rel != "" {
			name = strings.TrimSuffix(root, "/") + "/" + strings.TrimPrefix(rel, "/")
		}
		base := path.Base(name)
		matches := func(p string) bool { ok, _ := path.Match(p, base); return ok }
		switch {
		case err != nil:
			g.trouble(name, err)
		case d.IsDir():
			if name != root && slices.ContainsFunc(g.o["exclude-dir"], matches) {
				return fs.SkipDir
			}
		case !d.Type().IsRegular() && !g.o.has("R"):
		case slices.ContainsFunc(g.o["exclude"], matches), g.o.has("include") && !slices.ContainsFunc(g.o["include"], matches):
		default:
			g.visit(strings.TrimPrefix(name, map[bool]string{true: "./", false: ""}[root == "." && len(g.o) == 0]), false)
		}
		return nil
	})
}

// matches reports whether a line has a match.
func (g *grepping) matches(line string) bool {
	return slices.ContainsFunc(g.patterns, func(m matcher) bool { return m.find(line, 0) != nil })
}

// file greps one file.
func (g *grepping) file(name string, r io.Reader) {
	count, number, offset, printed := 0, 0, 0, -1
	rest := 0 // lines of context that follow
	var earlier []string
	quiet := g.o.has("q") || g.o.has("c") || g.o.has("l") || g.o.has("L")
	for line := range lines(r) {
		number++
		text := bare(line)
		if strings.IndexByte(text, 0) >= 0 && !g.o.has("a") && !quiet && g.matches(text) {
			g.found = true
			g.printf("grep: %s: binary file matches\n", name)
			return
		}
		switch hit := g.matches(text) != g.o.has("v"); {
		case hit:
			count++
			g.found = true
			if g.o.has("q") {
				panic(exit(0))
			}
			if !quiet {
				g.gap(number-len(earlier), printed)
				for i, e := range earlier {
					g.line(name, '-', number-len(earlier)+i, offset, e)
				}
				g.hit(name, number, offset, text)
				printed = number
			}
			earlier, rest = nil, g.after
		case rest > 0 && !quiet:
			g.line(name, '-', number, offset, text)
			printed = number
			rest--
		case g.before > 0:
			earlier = append(earlier, text)
			earlier = earlier[max(0, len(earlier)-g.before):]
		}
		offset += len(line)
		if count == g.most && rest == 0 || count > 0 && (g.o.has("l") || g.o.has("L")) {
			break
		}
	}
	g.summary(name, count)
}

// gap prints a line between parts that are not adjacent.
func (g *grepping) gap(next, printed int) {
	if (g.before > 0 || g.after > 0) && g.separated && next > printed+1 && !g.o.has("o") {
		g.print("--\n")
	}
	g.separated = true
}

func (g *grepping) summary(name string, count int) {
	switch {
	case g.o.has("l"):
		if count > 0 {
			g.print(name, "\n")
		}
	case g.o.has("L"):
		if count == 0 {
			g.print(name, "\n")
		}
	case g.o.has("c"):
		if g.named {
			g.print(name, ":")
		}
		g.print(strconv.Itoa(count), "\n")
	}
}

// hit prints a line that matches, or its matches.
func (g *grepping) hit(name string, number, offset int, text string) {
	if !g.o.has("o") {
		g.line(name, ':', number, offset, text)
		return
	}
	if g.o.has("v") {
		return
	}
	for at := 0; at <= len(text); {
		from, to := -1, -1
		for _, m := range g.patterns {
			if f := m.find(text, at); f != nil && (from < 0 || f[0] < from || f[0] == from && f[1] > to) {
				from, to = f[0], f[1]
			}
		}
		if from < 0 {
			return
		}
		if to > from {
			g.line(name, ':', number, offset+from, text[from:to])
		}
		at = max(to, from+1)
	}
}

func (g *grepping) line(name string, mark byte, number, offset int, text string) {
	m := string(mark)
	if g.named {
		g.print(name, m)
	}
	if g.o.has("n") {
		g.print(strconv.Itoa(number), m)
	}
	if g.o.has("b") {
		g.print(strconv.Itoa(offset), m)
	}
	g.print(text, "\n")
}
