package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

// start runs the command of a request.
func start(r request) int {
	c := &call{ctx: context.Background(), args: r.Args, dir: r.Dir, environ: r.Env, in: os.Stdin, out: os.Stdout, err: os.Stderr, run: execute}
	return execute(c, r.Args)
}

// execute runs a command with the streams, environment and folder of c: a shell, a utility, a
// script, or a program of the host.
func execute(c *call, args []string) int {
	if len(args) == 0 {
		return 0
	}
	name, at := args[0], ""
	if strings.Contains(name, "/") {
		at = c.path(name)
	} else if at = lookPath(c, name); at == "" {
		c.complain(name + ": command not found")
		return 127
	}
	info, err := os.Stat(at)
	switch {
	case err != nil:
		c.complain(name + ": " + reason(err))
		return 127
	case info.IsDir():
		c.complain(name + ": Is a directory")
		return 126
	case info.Mode()&0o111 == 0:
		c.complain(name + ": Permission denied")
		return 126
	}
	child := *c
	child.place, child.name, child.args = "", path.Base(name), args[1:]
	return child.exec(at, args)
}

// complain prints an error of the shell.
func (c *call) complain(what string) {
	if c.place != "" {
		what = c.place + ": " + what
	}
	fmt.Fprintln(c.err, what)
}

// marker is the content of the files that stand for what the userland brings, so that which
// and test -x find them: it and the name of the command follow.
const marker = "#!merit "

// exec runs the file at a path.
func (c *call) exec(at string, args []string) int {
	head := interpreterOf(at)
	switch {
	case strings.HasPrefix(head, marker):
		return c.brought(strings.TrimSpace(strings.TrimPrefix(head, marker)), args)
	case head == "":
		return c.sh(at, args)
	}
	by, option, _ := strings.Cut(strings.TrimSpace(head[2:]), " ")
	full := []string{by}
	if option = strings.TrimSpace(option); option != "" {
		full = append(full, option)
	}
	script := at
	if strings.Contains(args[0], "/") {
		script = args[0]
	}
	child := *c
	return execute(&child, append(append(full, script), args[1:]...))
}

// interpreterOf returns the first line of a script if it begins with #!.
func interpreterOf(at string) string {
	f, err := os.Open(at)
	if err != nil {
		return ""
	}
	defer f.Close()
	b := make([]byte, 256)
	n, _ := io.ReadFull(f, b)
	if !bytes.HasPrefix(b[:n], []byte("#!")) {
		return ""
	}
	line, _, _ := strings.Cut(string(b[:n]), "\n")
	return line
}

// brought runs what the userland brings.
func (c *call) brought(name string, args []string) int {
	switch name {
	case "bash", "sh", "dash":
		return c.shell(args)
	case "[", "test", "echo", "true", "false", "pwd", "kill":
		return c.builtin(name, args)
	}
	if u := utilities[name]; u != nil {
		return invoke(u, c)
	}
	return c.spawn(name, args)
}

// builtin runs a builtin of the shell as a command.
func (c *call) builtin(name string, args []string) int {
	words := []*syntax.Word{{Parts: []syntax.WordPart{&syntax.Lit{Value: "builtin"}}}}
	for _, a := range append([]string{name}, args[1:]...) {
		words = append(words, &syntax.Word{Parts: []syntax.WordPart{&syntax.SglQuoted{Value: a}}})
	}
	return c.interpret(&syntax.File{Stmts: []*syntax.Stmt{{Cmd: &syntax.CallExpr{Args: words}}}}, name, nil, nil)
}

// shell runs bash with its arguments.
func (c *call) shell(args []string) int {
	var flags []string
	rest, command := args[1:], false
	for len(rest) > 0 && len(rest[0]) > 1 && (rest[0][0] == '-' || rest[0][0] == '+') {
		a := rest[0]
		rest = rest[1:]
		if a == "--" {
			break
		}
		if strings.HasPrefix(a, "--") {
			continue // --login, --norc and their kind
		}
		for _, l := range a[1:] {
			switch l {
			case 'c':
				command = true
			case 'l', 'i', 's':
			case 'o':
				if len(rest) > 0 {
					flags, rest = append(flags, a[:1]+"o", rest[0]), rest[1:]
				}
			default:
				flags = append(flags, a[:1]+string(l))
			}
		}
	}
	switch {
	case command && len(rest) == 0:
		fmt.Fprintf(c.err, "%s: -c: option requires an argument\n", c.name)
		return 2
	case command:
		zero, params := args[0], rest[1:]
		if len(params) > 0 {
			zero, params = params[0], params[1:]
		}
		return c.source(strings.NewReader(rest[0]), zero, flags, params)
	case len(rest) > 0:
		f, err := os.Open(c.path(rest[0]))
		if err != nil {
			fmt.Fprintf(c.err, "%s: %s: %s\n", c.name, rest[0], reason(err))
			return 127
		}
		defer f.Close()
		return c.source(f, rest[0], flags, rest[1:])
	}
	return c.source(c.in, args[0], flags, nil)
}

// sh runs a script that has no first line with an interpreter.
func (c *call) sh(at string, args []string) int {
	f, err := os.Open(at)
	if err != nil {
		return 126
	}
	defer f.Close()
	return c.source(f, args[0], nil, args[1:])
}

// source parses a script and runs it.
func (c *call) source(r io.Reader, name string, flags, params []string) int {
	text, err := io.ReadAll(r)
	if err != nil {
		fmt.Fprintf(c.err, "%s: %s\n", name, reason(err))
		return 126
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(bytes.NewReader(text), name)
	if err != nil {
		fmt.Fprintln(c.err, err)
		return 2
	}
	return c.interpret(f, name, flags, params)
}

// interpret runs a parsed script.
func (c *call) interpret(f *syntax.File, name string, flags, params []string) int {
	f.Name = name
	options := []interp.RunnerOption{
		interp.StdIO(c.in, c.out, c.err), interp.Env(expand.ListEnviron(c.environ...)), interp.Dir(c.dir),
		interp.Params(append(append(flags, "--"), params...)...),
		interp.CallHandler(instead),
		interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc { return handler }),
	}
	r, err := interp.New(options...)
	if err != nil {
		fmt.Fprintf(c.err, "%s: %s\n", c.name, err)
		return 2
	}
	err = r.Run(context.WithValue(c.ctx, scriptKey{}, script{name, c.name == "sh" || c.name == "dash"}), f)
	var status interp.ExitStatus
	switch {
	case errors.As(err, &status):
		return int(status)
	case err != nil:
		fmt.Fprintf(c.err, "%s: %s\n", c.name, err)
		return 1
	}
	return 0
}

// scriptKey is the key of a running script in a context.
type scriptKey struct{}

// script is what a command may have to know of the script that calls it.
type script struct {
	name  string
	posix bool // it runs in sh, whose echo knows escapes
}

// instead replaces builtins of the interpreter that lack something.
func instead(ctx context.Context, args []string) ([]string, error) {
	h := interp.HandlerCtx(ctx)
	if s, ok := ctx.Value(scriptKey{}).(script); ok && s.posix && args[0] == "echo" {
		return echo(h.Stdout, args[1:]), nil
	}
	if args[0] != "printf" || len(args) < 2 {
		return args, nil
	}
	if args[1] == "-v" && len(args) > 3 {
		f := formatter{args: args[4:]}
		f.format(args[3])
		quoted, err := syntax.Quote(f.out.String(), syntax.LangBash)
		if err != nil {
			return []string{"false"}, nil
		}
		return []string{"eval", args[2] + "=" + quoted}, nil
	}
	c := &call{name: "printf", args: args[1:], out: h.Stdout, err: h.Stderr}
	if status := invoke(printfUtility, c); status != 0 {
		return []string{"false"}, nil
	}
	return []string{"true"}, nil
}

// echo is that of sh, and returns what is left to do.
func echo(w io.Writer, args []string) []string {
	end := "\n"
	if len(args) > 0 && args[0] == "-n" {
		end, args = "", args[1:]
	}
	f := formatter{}
	text := f.unescaped(strings.Join(args, " "))
	if f.ended {
		end = ""
	}
	if _, err := io.WriteString(w, text+end); err != nil {
		return []string{"false"}
	}
	return []string{"true"}
}

// handler runs the commands that are not builtins of the shell.
func handler(ctx context.Context, args []string) error {
	h := interp.HandlerCtx(ctx)
	in, _ := h.Stdin.(*os.File)
	c := &call{ctx: ctx, dir: h.Dir, in: in, out: h.Stdout, err: h.Stderr, run: execute}
	c.environ = exported(h.Env)
	if s, ok := ctx.Value(scriptKey{}).(script); ok {
		c.place = fmt.Sprintf("%s: line %d", s.name, h.Pos.Line())
	}
	if c.in == nil {
		null, err := os.Open("/dev/null")
		if err == nil {
			defer null.Close()
		}
		c.in = null
	}
	if status := execute(c, args); status != 0 {
		return interp.ExitStatus(uint8(status))
	}
	return nil
}

// exported returns the environment of a command, by name.
func exported(env expand.Environ) (list []string) {
	values := map[string]string{}
	env.Each(func(name string, v expand.Variable) bool {
		if delete(values, name); (v.Exported || name == "PWD" || name == "OLDPWD") && v.Kind == expand.String && v.IsSet() {
			values[name] = v.Str
		}
		return true
	})
	for _, name := range slices.Sorted(maps.Keys(values)) {
		list = append(list, name+"="+values[name])
	}
	return list
}

// lookPath returns where a command is, or "".
func lookPath(c *call, name string) string {
	for _, dir := range strings.Split(cmpOr(c.getenv("PATH"), "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"), ":") {
		at := c.path(cmpOr(dir, ".")) + "/" + name
		if info, err := os.Stat(at); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return at
		}
	}
	return ""
}

func which(c *call) int {
	o, names := c.parse("a s")
	status := 0
	for _, name := range names {
		at := lookPath(c, name)
		if strings.Contains(name, "/") {
			if info, err := os.Stat(c.path(name)); err == nil && info.Mode()&0o111 != 0 {
				at = name
			}
		}
		if at == "" {
			status = 1
		} else if !o.has("s") {
			c.print(path.Clean(at), "\n")
		}
	}
	return status
}

func install(c *call) int {
	o, names := c.parse("d|directory m|mode= D v|verbose o= g= t|target-directory= p s c T")
	if o.has("d") {
		for _, name := range names {
			if err := os.MkdirAll(c.path(name), 0o755); err != nil {
				return c.fail("cannot create directory %s: %s", quote(name), err)
			}
		}
		return 0
	}
	into, sources := c.destination(o, names)
	if o.has("D") {
		_ = os.MkdirAll(path.Dir(c.path(into)), 0o755)
	}
	info, err := os.Stat(c.path(into))
	k := copying{call: c, o: options{}}
	for _, source := range sources {
		target := into
		if err == nil && info.IsDir() {
			target = path.Join(into, path.Base(source))
		}
		k.copy(source, target, true)
		_ = os.Chmod(c.path(target), c.mode(o.last("m", "755"), 0))
	}
	return k.status
}

//go:wasmimport merit_machine spawn
//go:noescape
func machineSpawn(at unsafe.Pointer, size uint32, in, out, err uint32) uint32

//go:wasmimport merit_machine turn
//go:noescape
func machineTurn(process uint32, value unsafe.Pointer) uint32

// spawned is a program that the host should run.
type spawned struct {
	Program string   `json:"program"`
	Args    []string `json:"args"`
	Env     []string `json:"env"`
	Dir     string   `json:"dir"`
}

// spawn lets the host run a program in another instance. Both use the same files, pipes
// and streams; what is none of these, such as a buffer, gets a copy at the end.
func (c *call) spawn(name string, args []string) int {
	request, err := json.Marshal(spawned{name, args, c.environ, path.Clean("/" + c.dir)})
	if err != nil {
		return c.fail("%s", err)
	}
	var streams lent
	defer streams.close()
	in := descriptor(c.in)
	out := streams.output(c.out)
	errors := out
	if c.err != c.out {
		errors = streams.output(c.err)
	}
	process := machineSpawn(unsafe.Pointer(unsafe.SliceData(request)), uint32(len(request)), in, out, errors)
	for {
		var value uint32
		switch machineTurn(process, unsafe.Pointer(&value)) {
		case reading:
			c.await(value, func(raw syscall.RawConn, f func(uintptr) bool) error { return raw.Read(f) })
		case writing:
			c.await(value, func(raw syscall.RawConn, f func(uintptr) bool) error { return raw.Write(f) })
		default:
			streams.copy()
			return int(int32(value))
		}
	}
}

// What a process of the host waits for.
const (
	reading = 1
	writing = 2
)

// await waits until a descriptor is ready, while other parts of the shell run.
func (c *call) await(fd uint32, wait func(syscall.RawConn, func(uintptr) bool) error) {
	for _, stream := range []any{c.in, c.out, c.err} {
		f, ok := stream.(*os.File)
		if !ok || descriptor(f) != fd {
			continue
		}
		if raw, err := f.SyscallConn(); err == nil {
			waited := false
			_ = wait(raw, func(uintptr) bool {
				ready := waited
				waited = true
				return ready
			})
		}
		return
	}
}

// lent are the streams of a program that the host runs.
type lent struct {
	files  []*os.File // to be removed
	copies []func()
}

// descriptor returns the descriptor of a file. os.File.Fd would make it block.
func descriptor(f *os.File) (fd uint32) {
	if raw, err := f.SyscallConn(); err == nil {
		_ = raw.Control(func(n uintptr) { fd = uint32(n) })
	}
	return fd
}

func (l *lent) scratch() *os.File {
	f, err := os.CreateTemp("/tmp", ".stream-*")
	if err != nil {
		return nil
	}
	l.files = append(l.files, f)
	return f
}

// output returns a descriptor to write to.
func (l *lent) output(w io.Writer) uint32 {
	if f, ok := w.(*os.File); ok {
		return descriptor(f)
	}
	s := l.scratch()
	if s == nil {
		return 1
	}
	l.copies = append(l.copies, func() {
		_, _ = s.Seek(0, io.SeekStart)
		_, _ = io.Copy(w, s)
	})
	return descriptor(s)
}

func (l *lent) copy() {
	for _, c := range l.copies {
		c()
	}
}

func (l *lent) close() {
	for _, f := range l.files {
		f.Close()
		_ = os.Remove(f.Name())
	}
}

// names returns the commands that the userland brings, for the host to lay out.
func names() []string {
	list := []string{"bash", "sh", "dash", "[", "test", "echo", "true", "false", "pwd", "kill"}
	for name := range utilities {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}
