package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
)

// call is one call of a utility.
type call struct {
	ctx      context.Context
	name     string
	args     []string // without the name
	dir      string   // the working directory; that of the process is always /
	environ  []string // NAME=value
	in       *os.File
	out, err io.Writer
	place    string                           // the script and the line, for errors of the shell
	run      func(c *call, args []string) int // runs another command with the streams of c
}

// utility runs and returns its exit status.
type utility func(c *call) int

// exit is how a utility ends early.
type exit int

// path returns a path relative to the root.
func (c *call) path(p string) string {
	if p == "" || path.IsAbs(p) {
		return p
	}
	return c.dir + "/" + p
}

func (c *call) getenv(name string) string {
	value := ""
	for _, pair := range c.environ {
		if v, ok := strings.CutPrefix(pair, name+"="); ok {
			value = v
		}
	}
	return value
}

// print writes to standard output. If nobody reads it any more, the utility ends as by
// SIGPIPE.
func (c *call) print(text ...string) {
	for _, t := range text {
		if _, err := io.WriteString(c.out, t); err != nil {
			panic(exit(c.unwritten(err)))
		}
	}
}

// unwritten returns the exit status after an error of standard output.
func (c *call) unwritten(err error) int {
	if errors.Is(err, syscall.EPIPE) {
		return brokenPipe
	}
	return c.fail("write error: %s", err)
}

func (c *call) printf(format string, args ...any) { c.print(fmt.Sprintf(format, args...)) }

const brokenPipe = 128 + 13

// fail prints an error and returns 1.
func (c *call) fail(format string, args ...any) int {
	for i, a := range args {
		if err, ok := a.(error); ok {
			args[i] = reason(err)
		}
	}
	fmt.Fprintf(c.err, c.name+": "+format+"\n", args...)
	return 1
}

// reason returns the text of an error without the path, as strerror has it.
func reason(err error) string {
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno):
		return errno.Error()
	case errors.Is(err, fs.ErrNotExist):
		return "No such file or directory"
	case errors.Is(err, fs.ErrExist):
		return "File exists"
	}
	return err.Error()
}

// usage ends the utility with an error of its arguments.
func (c *call) usage(format string, args ...any) {
	c.fail(format, args...)
	fmt.Fprintf(c.err, "Try '%s --help' for more information.\n", c.name)
	panic(exit(c.misuse()))
}

// misuse is the exit status for wrong arguments.
func (c *call) misuse() int {
	if slices.Contains([]string{"grep", "egrep", "fgrep", "diff", "cmp", "sort", "ls"}, c.name) {
		return 2
	}
	return 1
}

// options are the options of a call, by their short names, or long ones without a short.
type options map[string][]string

func (o options) has(name string) bool { return o[name] != nil }

// last returns the value of the last option of a name, or otherwise.
func (o options) last(name, otherwise string) string {
	if v := o[name]; v != nil {
		return v[len(v)-1]
	}
	return otherwise
}

// parse separates options from operands, as getopt_long does. spec lists the options: "n" is a
// flag, "n=" takes a value, "n|lines=" has a long name, "color=?" a value that may lack.
func (c *call) parse(spec string) (options, []string) { return c.parseUntil(spec, false) }

// parseUntil is parse that may stop at the first operand.
func (c *call) parseUntil(spec string, first bool) (o options, rest []string) {
	known := map[string]option{}
	for _, s := range strings.Fields(spec) {
		names, kind, valued := strings.Cut(s, "=")
		list := strings.Split(names, "|")
		for _, name := range list {
			known[name] = option{list[0], valued, kind == "?"}
		}
	}
	o = options{}
	for i := 0; i < len(c.args); i++ {
		a := c.args[i]
		switch {
		case a == "--":
			return o, append(rest, c.args[i+1:]...)
		case strings.HasPrefix(a, "--"):
			i = c.long(known, o, i)
		case len(a) > 1 && a[0] == '-':
			i = c.short(known, o, i)
		case first:
			return o, c.args[i:]
		default:
			rest = append(rest, a)
		}
	}
	return o, rest
}

type option struct {
	name             string
	valued, optional bool
}

// long takes the long option at an index, and returns the index of the last argument taken.
func (c *call) long(known map[string]option, o options, i int) int {
	name, value, given := strings.Cut(c.args[i][2:], "=")
	is, ok := known[name]
	if len(name) < 2 {
		ok = false
	}
	if !ok { // an abbreviation
		for full, p := range known {
			if len(full) > 1 && strings.HasPrefix(full, name) && (is.name == "" || is.name == p.name) {
				is, ok = p, true
			}
		}
	}
	switch {
	case !ok && name == "help":
		c.printf("%s of Merit's userland: see the manual of GNU %s\n", c.name, c.name)
		panic(exit(0))
	case !ok && name == "version":
		c.printf("%s (Merit userland) 1.0\n", c.name)
		panic(exit(0))
	case !ok:
		c.usage("unrecognized option '--%s'", name)
	case is.valued && !given && !is.optional:
		if i++; i == len(c.args) {
			c.usage("option '--%s' requires an argument", name)
		}
		value = c.args[i]
	}
	o[is.name] = append(o[is.name], value)
	return i
}

// short takes a cluster of short options.
func (c *call) short(known map[string]option, o options, i int) int {
	for cluster := c.args[i][1:]; cluster != ""; {
		r := cluster[:1]
		cluster = cluster[1:]
		is, ok := known[r]
		if !ok {
			c.usage("invalid option -- '%s'", r)
		}
		value := ""
		if is.valued {
			if value, cluster = cluster, ""; value == "" && !is.optional {
				if i++; i == len(c.args) {
					c.usage("option requires an argument -- '%s'", r)
				}
				value = c.args[i]
			}
		}
		o[is.name] = append(o[is.name], value)
	}
	return i
}

// open opens a file to read, or standard input for "-".
func (c *call) open(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(c.in), nil
	}
	f, err := os.Open(c.path(name))
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		f.Close()
		return nil, syscall.EISDIR
	}
	return f, nil
}

// each calls use with every file, or with standard input if there are none. It returns 1 if a
// file could not be opened.
func (c *call) each(names []string, use func(name string, r io.Reader)) (status int) {
	if len(names) == 0 {
		names = []string{"-"}
	}
	for _, name := range names {
		r, err := c.open(name)
		if err != nil {
			status = c.fail("%s: %s", name, err)
			continue
		}
		use(name, bufio.NewReaderSize(r, 1<<16))
		r.Close()
	}
	return status
}

// lines yields the lines of r with their newline, if they have one.
func lines(r io.Reader) func(func(string) bool) {
	b, ok := r.(*bufio.Reader)
	if !ok {
		b = bufio.NewReaderSize(r, 1<<16)
	}
	return func(yield func(string) bool) {
		for {
			line, err := b.ReadString('\n')
			if line != "" && !yield(line) || err != nil {
				return
			}
		}
	}
}

// ended returns a line with a newline.
func ended(line string) string {
	if strings.HasSuffix(line, "\n") {
		return line
	}
	return line + "\n"
}

// bare returns a line without its newline.
func bare(line string) string { return strings.TrimSuffix(line, "\n") }

// quote quotes a name in a message of GNU.
func quote(name string) string { return "'" + name + "'" }

// invoke runs a utility.
func invoke(u utility, c *call) (status int) {
	buffered := bufio.NewWriterSize(c.out, 1<<15)
	direct := c.out
	c.out = buffered
	defer func() {
		switch e := recover().(type) {
		case nil:
		case exit:
			status = int(e)
		default:
			panic(e)
		}
		if err := buffered.Flush(); err != nil && status == 0 {
			status = c.unwritten(err)
		}
		c.out = direct
	}()
	return u(c)
}
