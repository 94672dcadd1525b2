package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"time"
)

// found is a file that find visits.
type found struct {
	name  string // as find prints it
	start string
	info  fs.FileInfo
	depth int
	prune bool
}

// test is one primary, or a combination, of an expression of find.
type test func(f *found) bool

type finding struct {
	*call
	args        []string
	least, most int
	deep        bool
	follow      bool
	acts        bool // an action prints or does something
	status      int
	quit        bool
	batches     []*batch
}

// batch collects the files of -exec … +.
type batch struct {
	args  []string
	names []string
	dir   bool
}

func find(c *call) int {
	f := &finding{call: c, most: 1 << 30}
	args := c.args
	for len(args) > 0 && (args[0] == "-L" || args[0] == "-H" || args[0] == "-P" || strings.HasPrefix(args[0], "-O")) {
		f.follow = args[0] == "-L"
		args = args[1:]
	}
	var roots []string
	for len(args) > 0 && (!strings.HasPrefix(args[0], "-") || args[0] == "-") && args[0] != "(" && args[0] != "!" {
		roots, args = append(roots, args[0]), args[1:]
	}
	if len(roots) == 0 {
		roots = []string{"."}
	}
	f.args = args
	expression := f.expression()
	if len(f.args) > 0 {
		f.bad("paths must precede expression: `%s'", f.args[0])
	}
	if !f.acts {
		inner := expression
		expression = func(x *found) bool {
			if inner(x) {
				f.print(x.name, "\n")
			}
			return true
		}
	}
	for _, root := range roots {
		info, err := f.stat(root)
		if err != nil {
			f.status = c.fail("%s: %s", quote(root), err)
			continue
		}
		f.visit(&found{name: root, start: root, info: info}, expression)
	}
	for _, b := range f.batches {
		if len(b.names) > 0 {
			f.flush()
			if f.run(f.call, append(b.args[:len(b.args):len(b.args)], b.names...)) != 0 {
				f.status = 1
			}
		}
	}
	return f.status
}

func (f *finding) flush() {
	if w, ok := f.out.(interface{ Flush() error }); ok {
		_ = w.Flush()
	}
}

func (f *finding) bad(format string, args ...any) {
	f.fail(format, args...)
	panic(exit(1))
}

func (f *finding) stat(name string) (fs.FileInfo, error) {
	if f.follow {
		if info, err := os.Stat(f.path(name)); err == nil {
			return info, nil
		}
	}
	return os.Lstat(f.path(name))
}

func (f *finding) visit(x *found, expression test) {
	if f.quit {
		return
	}
	apply := func() {
		if x.depth >= f.least {
			expression(x)
		}
	}
	if !f.deep {
		apply()
	}
	if x.info.IsDir() && !x.prune && x.depth < f.most {
		entries, err := os.ReadDir(f.path(x.name))
		if err != nil {
			f.status = f.fail("%s: %s", quote(x.name), err)
		}
		for _, e := range entries {
			name := strings.TrimSuffix(x.name, "/") + "/" + e.Name()
			if info, err := f.stat(name); err == nil {
				f.visit(&found{name: name, start: x.start, info: info, depth: x.depth + 1}, expression)
			}
		}
	}
	if f.deep && !f.quit {
		apply()
	}
}

// expression reads terms that -o and commas separate.
func (f *finding) expression() test {
	t := f.conjunction()
	for len(f.args) > 0 && (f.args[0] == "-o" || f.args[0] == "-or" || f.args[0] == ",") {
		comma := f.args[0] == ","
		f.args = f.args[1:]
		left, right := t, f.conjunction()
		if comma {
			t = func(x *found) bool { left(x); return right(x) }
		} else {
			t = func(x *found) bool { return left(x) || right(x) }
		}
	}
	return t
}

func (f *finding) conjunction() test {
	t := func(*found) bool { return true }
	for len(f.args) > 0 && f.args[0] != "-o" && f.args[0] != "-or" && f.args[0] != ")" && f.args[0] != "," {
		if f.args[0] == "-a" || f.args[0] == "-and" {
			f.args = f.args[1:]
			continue
		}
		left, right := t, f.primary()
		t = func(x *found) bool { return left(x) && right(x) }
	}
	return t
}

func (f *finding) value(of string) string {
	if len(f.args) == 0 {
		f.bad("missing argument to `%s'", of)
	}
	v := f.args[0]
	f.args = f.args[1:]
	return v
}

// number compares with n, +n or -n.
func (f *finding) number(of string) func(v int64) bool {
	text := f.value(of)
	n, err := strconv.ParseInt(strings.TrimLeft(text, "+-"), 10, 64)
	if err != nil {
		f.bad("invalid argument `%s' to `%s'", text, of)
	}
	switch text[0] {
	case '+':
		return func(v int64) bool { return v > n }
	case '-':
		return func(v int64) bool { return v < n }
	}
	return func(v int64) bool { return v == n }
}

func (f *finding) primary() test {
	name := f.value("")
	switch name {
	case "(":
		t := f.expression()
		if f.value("(") != ")" {
			f.bad("invalid expression; expected to find a ')' but didn't see one")
		}
		return t
	case "!", "-not":
		t := f.primary()
		return func(x *found) bool { return !t(x) }
	case "-name", "-iname":
		p := f.glob(f.value(name), name == "-iname")
		return func(x *found) bool { return p(path.Base(x.name)) }
	case "-path", "-wholename", "-ipath":
		p := f.glob(f.value(name), name == "-ipath")
		return func(x *found) bool { return p(x.name) }
	case "-regex", "-iregex":
		m, err := pattern{dialect: basic, whole: true, fold: name == "-iregex"}.compile(f.value(name))
		if err != nil {
			f.bad("%s", err)
		}
		return func(x *found) bool { return m.find(x.name, 0) != nil }
	case "-type", "-xtype":
		kinds := f.value(name)
		return func(x *found) bool { return strings.Contains(kinds, kindLetter(x.info.Mode())) }
	case "-maxdepth", "-mindepth":
		n, err := strconv.Atoi(f.value(name))
		if err != nil {
			f.bad("invalid argument to `%s'", name)
		}
		if name == "-maxdepth" {
			f.most = n
		} else {
			f.least = n
		}
		return func(*found) bool { return true }
	}
	if t := f.property(name); t != nil {
		return t
	}
	return f.action(name)
}

func kindLetter(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "d"
	case m&fs.ModeSymlink != 0:
		return "l"
	case m&fs.ModeDevice != 0:
		return "c"
	}
	return "f"
}

// glob returns a function that matches a pattern of the shell, in which * also matches /.
func (f *finding) glob(text string, fold bool) func(string) bool {
	if fold {
		text = strings.ToLower(text)
	}
	return func(name string) bool {
		if fold {
			name = strings.ToLower(name)
		}
		ok, _ := path.Match(strings.ReplaceAll(text, "/", "\x01"), strings.ReplaceAll(name, "/", "\x01"))
		return ok
	}
}

// property returns a test of what a file is, or nil.
func (f *finding) property(name string) test {
	switch name {
	case "-size":
		return f.size()
	case "-empty":
		return func(x *found) bool {
			if x.info.IsDir() {
				entries, _ := os.ReadDir(f.path(x.name))
				return len(entries) == 0
			}
			return x.info.Mode().IsRegular() && x.info.Size() == 0
		}
	case "-mtime", "-atime", "-ctime", "-mmin", "-amin", "-cmin":
		unit := 24 * time.Hour
		if strings.HasSuffix(name, "min") {
			unit = time.Minute
		}
		n := f.number(name)
		return func(x *found) bool { return n(int64(time.Since(x.info.ModTime()) / unit)) }
	case "-newer", "-anewer", "-cnewer":
		other, err := os.Stat(f.path(f.value(name)))
		if err != nil {
			f.bad("%s", err)
		}
		return func(x *found) bool { return x.info.ModTime().After(other.ModTime()) }
	case "-newermt":
		t, err := parseDate(f.value(name), time.Now())
		if err != nil {
			f.bad("I cannot figure out how to interpret the argument as a date or time")
		}
		return func(x *found) bool { return x.info.ModTime().After(t) }
	case "-perm":
		return f.perm()
	case "-user", "-uid", "-group", "-gid":
		v := f.value(name)
		return func(*found) bool { return v == "root" || v == "0" }
	case "-links":
		n := f.number(name)
		return func(x *found) bool { return n(int64(system(x.info).Nlink)) }
	case "-inum":
		n := f.number(name)
		return func(x *found) bool { return n(int64(system(x.info).Ino)) }
	case "-samefile":
		other, err := os.Stat(f.path(f.value(name)))
		if err != nil {
			f.bad("%s", err)
		}
		return func(x *found) bool { return os.SameFile(other, x.info) }
	case "-executable":
		return func(x *found) bool { return x.info.Mode()&0o111 != 0 }
	case "-readable", "-writable", "-true", "-noleaf", "-xdev", "-mount", "-daystart", "-ignore_readdir_race":
		return func(*found) bool { return true }
	case "-false", "-nouser", "-nogroup":
		return func(*found) bool { return false }
	case "-depth", "-d":
		f.deep = true
		return func(*found) bool { return true }
	case "-follow":
		f.follow = true
		return func(*found) bool { return true }
	}
	return nil
}

func (f *finding) size() test {
	text := f.value("-size")
	digits := strings.TrimLeft(text, "+-")
	unit := int64(512)
	if digits != "" {
		if u, ok := map[byte]int64{'c': 1, 'w': 2, 'b': 512, 'k': 1 << 10, 'M': 1 << 20, 'G': 1 << 30}[digits[len(digits)-1]]; ok {
			unit = u
			text = text[:len(text)-1]
		}
	}
	f.args = append([]string{text}, f.args...)
	n := f.number("-size")
	return func(x *found) bool { return n((x.info.Size() + unit - 1) / unit) }
}

func (f *finding) perm() test {
	text := f.value("-perm")
	kind := byte(0)
	if text != "" && (text[0] == '-' || text[0] == '/') {
		kind, text = text[0], text[1:]
	}
	want := f.mode(text, 0).Perm()
	return func(x *found) bool {
		has := x.info.Mode().Perm()
		switch kind {
		case '-':
			return has&want == want
		case '/':
			return want == 0 || has&want != 0
		}
		return has == want
	}
}

// action returns a test that does something.
func (f *finding) action(name string) test {
	f.acts = true
	switch name {
	case "-print":
		return func(x *found) bool { f.print(x.name, "\n"); return true }
	case "-print0":
		return func(x *found) bool { f.print(x.name, "\x00"); return true }
	case "-ls":
		return func(x *found) bool {
			f.printf("%9d %6d %s %3d root     root     %8d %s %s\n", system(x.info).Ino, blocksOf(x.info), permissions(x.info.Mode()), system(x.info).Nlink, x.info.Size(), x.info.ModTime().UTC().Format("Jan _2 15:04"), x.name)
			return true
		}
	case "-printf":
		format := f.value(name)
		return func(x *found) bool { f.print(f.format(format, x)); return true }
	case "-delete":
		f.deep = true
		return func(x *found) bool {
			if err := os.Remove(f.path(x.name)); err != nil && x.name != "." {
				f.status = f.fail("cannot delete %s: %s", quote(x.name), err)
				return false
			}
			return true
		}
	case "-quit":
		return func(*found) bool { f.quit = true; return true }
	case "-prune":
		f.acts = false
		return func(x *found) bool { x.prune = true; return true }
	case "-exec", "-execdir", "-ok":
		return f.exec(name)
	}
	f.bad("unknown predicate `%s'", name)
	return nil
}

func (f *finding) exec(name string) test {
	var args []string
	for {
		a := f.value(name)
		if a == ";" {
			break
		}
		if a == "+" && len(args) > 0 && args[len(args)-1] == "{}" {
			b := &batch{args: args[:len(args)-1]}
			f.batches = append(f.batches, b)
			return func(x *found) bool { b.names = append(b.names, x.name); return true }
		}
		args = append(args, a)
	}
	return func(x *found) bool {
		filled := make([]string, len(args))
		c := *f.call
		file := x.name
		if name == "-execdir" {
			c.dir, file = path.Dir(f.path(x.name)), "./"+path.Base(x.name)
		}
		for i, a := range args {
			filled[i] = strings.ReplaceAll(a, "{}", file)
		}
		f.flush()
		return f.run(&c, filled) == 0
	}
}

func (f *finding) format(format string, x *found) string {
	var b strings.Builder
	format = unescape(format)
	for k := 0; k < len(format); k++ {
		if format[k] != '%' || k+1 == len(format) {
			b.WriteByte(format[k])
			continue
		}
		end := k + 1
		for end < len(format)-1 && strings.IndexByte("0123456789-.", format[end]) >= 0 {
			end++
		}
		spec, v := format[k+1:end], ""
		k = end
		switch format[k] {
		case 'p':
			v = x.name
		case 'f':
			v = path.Base(x.name)
		case 'h':
			v = path.Dir(x.name)
		case 'P':
			v = strings.TrimPrefix(strings.TrimPrefix(x.name, x.start), "/")
		case 's':
			v = fmt.Sprint(x.info.Size())
		case 'd':
			v = fmt.Sprint(x.depth)
		case 'm':
			v = strconv.FormatUint(uint64(x.info.Mode().Perm()), 8)
		case 'M':
			v = permissions(x.info.Mode())
		case 'y':
			v = kindLetter(x.info.Mode())
		case 'u', 'g':
			v = "root"
		case 'i':
			v = fmt.Sprint(system(x.info).Ino)
		case 'n':
			v = fmt.Sprint(system(x.info).Nlink)
		case 'l':
			v, _ = os.Readlink(f.path(x.name))
		case 't':
			v = x.info.ModTime().UTC().Format("Mon Jan _2 15:04:05.0000000000 2006")
		case 'T', 'A', 'C':
			if k+1 < len(format) {
				k++
				v = f.stamp(format[k], x.info.ModTime().UTC())
			}
		case '%':
			v = "%"
		}
		b.WriteString(fmt.Sprintf("%"+spec+"s", v))
	}
	return b.String()
}

func (f *finding) stamp(letter byte, t time.Time) string {
	switch letter {
	case '@':
		return fmt.Sprintf("%d.%09d0", t.Unix(), t.Nanosecond())
	case '+':
		return t.Format("2006-01-02+15:04:05.0000000000")
	}
	return strftime("%"+string(letter), t)
}
