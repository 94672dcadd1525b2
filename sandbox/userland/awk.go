package main

import (
	"bufio"
	"io"
	"os"
	"strings"

	"github.com/benhoyt/goawk/interp"
	"github.com/benhoyt/goawk/parser"
)

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
