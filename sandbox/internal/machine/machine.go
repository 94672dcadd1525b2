// Package machine runs commands on machines without a container: a machine is a file system in
// memory, a clock and random numbers, and its programs are WebAssembly instances that work on
// it. The shell and the core utilities are one module, the userland, whose state after the
// start is kept, so that a command begins in microseconds.
package machine

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/box"
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/engine/disk"
	"github.com/merit-rl/merit/sandbox/internal/fuel"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

// What the start of an interpreter may use, and how deeply its calls may be nested.
const (
	startFuel = 100_000_000_000
	depth     = 200_000
)

// Userland is the compiled module of the shell and the utilities, and CPython. It is safe for
// concurrent use.
type Userland struct {
	pool
	python *python // nil without one
	names  []string
	base   *disk.Disk // of a new machine
}

// Load compiles the userland and CPython from a folder of interpreters, and starts each once.
func Load(ctx context.Context, e *engine.Engine, folder string, l Limits) (*Userland, error) {
	l = l.complete()
	by := interpreter.Python().In(folder)
	if by.Package != "" {
		return nil, errNotOwn
	}
	module, library, err := by.Userland().Open(folder)
	if err != nil {
		return nil, err
	}
	packages, err := unzip(bytes.Clone(library))
	if err != nil {
		return nil, err
	}
	u, err := load(ctx, e, engine.Module{Title: by.Userland().Title, Digest: by.Userland().Digest, Read: func() ([]byte, error) { return module, nil }}, l)
	if err != nil {
		return nil, err
	}
	if u.python, err = loadPython(ctx, e, by, folder, packages, l); err == nil {
		err = u.layOut()
	}
	if err != nil {
		u.Close()
		return nil, err
	}
	return u, nil
}

// unzip reads the files of an archive, which are stored without compression, by their names.
func unzip(archive []byte) (map[string][]byte, error) {
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, f := range z.File {
		at, err := f.DataOffset()
		if err != nil || f.Method != zip.Store {
			return nil, errors.Join(errArchive, err)
		}
		files[f.Name] = archive[at : at+int64(f.UncompressedSize64)]
	}
	return files, nil
}

var errNotOwn error = &fault.Error{
	Boundary: fault.Sandbox, Kind: fault.Missing, Where: "machines", What: "machines need Merit's own build of CPython, with its library",
	Hint: "install it: make interpreter builds it, and releases contain it",
}

var errArchive = errors.New("the packages of the userland are compressed")

// mostPages is the largest Limits.Memory, in pages of WebAssembly: 1 GiB. It is part of the
// compiled code; Limits.Memory is not.
const mostPages = 1 << 14

// load compiles the module of the shell, and starts it once.
func load(ctx context.Context, e *engine.Engine, module engine.Module, l Limits) (*Userland, error) {
	gate := fuel.DefaultLimits()
	gate.MemoryPages, gate.TableEntries, gate.Bytes, gate.Complexity = mostPages, 20_000, 64<<20, 4_000_000
	gate.AllowImport = func(i fuel.Import) bool { _, fits := engine.Known(e.Imports(), i); return fits }
	program, err := e.Compile(ctx, module, fuel.Options{Limits: gate}, func(*fuel.Info) error { return nil })
	if err != nil {
		return nil, err
	}
	program.Process.Args = []string{"userland"}
	u := &Userland{pool: pool{program: program, limits: l, depth: depth}}
	if err := u.start(ctx, e); err != nil {
		u.Close()
		return nil, err
	}
	return u, nil
}

// start starts one instance, keeps its state and learns the names of the commands.
func (u *Userland) start(ctx context.Context, e *engine.Engine) error {
	empty := disk.New(u.limits.disk(), epoch, 1)
	stop, err := u.boot(ctx, e, [32]byte{}, engine.NewTable(empty, [3]*engine.Open{silent(), silent(), silent()}), "_initialize", &sink{})
	if err != nil {
		return err
	}
	if stop != nil {
		return stop
	}
	r := (&Machine{u, empty}).run(ctx, request{List: true}, 0)
	u.names = strings.Fields(string(r.Output))
	return r.Err
}

// run runs the command of a request in an instance of the shell.
func (u *Userland) run(i *engine.Instance) (status int, stop *engine.Stop) {
	code, stop := i.Call(i.Func("run"))
	if stop != nil && stop.Kind == engine.Exited {
		return int(stop.Code), nil
	}
	return int(int32(code)), stop
}

// Close frees the userland; no machine may run.
func (u *Userland) Close() {
	if u.python != nil {
		u.python.close()
	}
	u.close()
}

const epoch = 1_767_225_600_000_000_000 // 2026-01-01, ns

// Machine is one machine between two commands. It is not safe for concurrent use.
type Machine struct {
	userland *Userland
	disk     *disk.Disk
}

func (m *Machine) fork() *Machine { return &Machine{m.userland, m.disk.Fork()} }

// ErrOutput stops a command that writes more than Limits.Output.
var ErrOutput = errors.New("the command wrote more than the limit of its output")

// Run implements box.Box. The user is root, whatever the command says: a machine has no other.
func (m *Machine) Run(ctx context.Context, c box.Command) box.Result {
	return m.run(ctx, request{Args: c.Args, Env: c.Env, Dir: c.Dir}, c.Fuel)
}

// request is what the userland and CPython read.
type request struct {
	// Program is the name of what the shell found, which is the last part of Args[0] or of a
	// link's target. CPython goes by Args.
	Program string `json:"program,omitempty"`

	Args []string `json:"args"`
	Env  []string `json:"env"`
	Dir  string   `json:"dir"`
	List bool     `json:"list,omitempty"`
}

func (m *Machine) run(ctx context.Context, q request, most uint64) box.Result {
	u := m.userland
	i, err := u.get(ctx)
	if err != nil {
		return box.Result{Err: &box.Stopped{Outcome: box.Infrastructure, Reason: err.Error()}}
	}
	out, errs := &sink{most: u.limits.Output}, &sink{most: u.limits.Output}
	p := m.process(ctx, i, q, [3]*engine.Open{engine.OpenStream(&source{}), engine.OpenStream(out), engine.OpenStream(errs)}, 0)
	p.from = &u.pool
	i.Begin(ctx, u.budget(most))
	status, stop := u.run(i)
	used, late := i.End()
	if late != nil {
		stop = late
	}
	p.end()
	r := box.Result{Status: status, Output: out.data, Errors: errs.data, Fuel: used}
	if stop != nil {
		r.Err, r.Status = &box.Stopped{Outcome: outcome(stop), Reason: stop.Error()}, 0
	}
	return r
}

// outcome is what stopped a command.
func outcome(s *engine.Stop) box.Outcome {
	switch {
	case s.Kind == engine.OutOfFuel:
		return box.OutOfFuel
	case s.Kind == engine.TimedOut:
		return box.TimedOut
	case s.Kind == engine.Cancelled:
		return box.Cancelled
	case s.Kind != engine.Refused:
		return box.Crashed
	case errors.Is(s.Err, ErrOutput):
		return box.TooMuchOutput
	case errors.Is(s.Err, engine.ErrDeadlock):
		return box.Deadlock
	case errors.Is(s.Err, errNested):
		return box.TooNested
	}
	return box.Infrastructure
}

// source is standard input.
type source struct{ data []byte }

func (s *source) Read(p []byte) int {
	n := copy(p, s.data)
	s.data = s.data[n:]
	return n
}

func (*source) Write(p []byte) error { return nil }

// sink collects what a command writes.
type sink struct {
	data []byte
	most int
}

func (*sink) Read([]byte) int { return 0 }

func (s *sink) Write(p []byte) error {
	if len(s.data)+len(p) > s.most {
		s.data = append(s.data, p[:s.most-len(s.data)]...)
		return ErrOutput
	}
	s.data = append(s.data, p...)
	return nil
}

func silent() *engine.Open { return engine.OpenStream(&sink{most: 1 << 20}) }

var (
	errNested   = errors.New("programs start each other too deeply")
	errNoPython = errors.New("the machine has no Python")
)

// New implements box.Maker.
func (u *Userland) New(context.Context) (box.Box, error) { return u.new(), nil }

func (u *Userland) new() *Machine {
	u.mu.Lock()
	defer u.mu.Unlock()
	return &Machine{u, u.base.Fork()}
}

// layOut makes the disk of new machines.
func (u *Userland) layOut() error {
	d := disk.New(u.limits.disk(), epoch, 0x6d657269745f7631)
	l := &layout{disk: d}
	for _, dir := range folders {
		l.folder(dir, 0o755)
	}
	l.folder("/tmp", 0o1777)
	for _, link := range links {
		l.make(link[0], disk.Link, 0o777, link[1])
	}
	for _, name := range devices {
		l.make("/dev/"+name, disk.Device, 0o666, name)
	}
	for _, file := range files {
		l.file(file[0], 0o644, file[1])
	}
	for _, name := range u.names {
		l.file("/usr/bin/"+name, 0o755, "#!merit "+name+"\n")
	}
	for _, at := range programs {
		l.file(at, 0o755, "#!merit "+path.Base(at)+"\n")
	}
	if u.python != nil {
		u.python.layOut(l)
	}
	u.base = d
	return l.err
}

var (
	folders = []string{"/dev", "/etc", "/home", "/opt", "/root", "/root/.local", "/root/.local/bin", "/run", "/srv", "/usr", "/usr/bin", "/usr/lib", "/usr/local", "/usr/local/bin", "/usr/sbin", "/usr/share", "/var", "/var/log", "/var/tmp", "/var/lib", "/var/lib/apt", "/var/lib/apt/lists", "/var/cache", "/proc", "/mnt"}
	links   = [][2]string{{"/bin", "usr/bin"}, {"/sbin", "usr/sbin"}, {"/lib", "usr/lib"}}
	devices = []string{"null", "zero", "full", "random", "urandom", "stdin", "stdout", "stderr"}
	files   = [][2]string{
		{"/etc/passwd", "root:x:0:0:root:/root:/bin/bash\n"}, {"/etc/group", "root:x:0:\n"}, {"/etc/hostname", "merit\n"}, {"/etc/hosts", "127.0.0.1 localhost\n"},
		{"/root/.local/bin/env", "export PATH=\"$HOME/.local/bin:$PATH\"\n"},
		{"/etc/os-release", "PRETTY_NAME=\"Merit userland\"\nNAME=\"Merit userland\"\nID=merit\nID_LIKE=debian\nVERSION_ID=\"1\"\n"},
	}
	programs = []string{"/usr/bin/python3", "/usr/local/bin/python", "/usr/local/bin/python3", "/usr/local/bin/python3.13", "/usr/local/bin/pytest", "/usr/local/bin/py.test", "/usr/local/bin/pip", "/usr/local/bin/pip3"}
)

// layout fills a disk.
type layout struct {
	disk *disk.Disk
	err  error
}

func (l *layout) make(path string, kind disk.Kind, mode uint16, data string) uint32 {
	at, errno := l.disk.Lookup(disk.Root, path, false)
	if errno == disk.OK && at.Node == disk.None {
		var n uint32
		if n, errno = l.disk.Make(at, kind, mode, data); errno == disk.OK {
			return n
		}
	}
	l.err = errors.Join(l.err, fmt.Errorf("%s cannot be laid out: errno %d", path, errno))
	return disk.None
}

func (l *layout) folder(path string, mode uint16)         { l.make(path, disk.Folder, mode, "") }
func (l *layout) file(path string, mode uint16, t string) { l.make(path, disk.File, mode, t) }

// shared adds a file whose content all machines share.
func (l *layout) shared(path string, mode uint16, data []byte) {
	if n := l.make(path, disk.File, mode, ""); n != disk.None {
		l.disk.Share(n, data)
	}
}

// parents makes the folders that a path needs.
func (l *layout) parents(path string) {
	for k := 1; k < len(path); k++ {
		if path[k] != '/' {
			continue
		}
		if at, errno := l.disk.Lookup(disk.Root, path[:k], true); errno == disk.OK && at.Node == disk.None {
			l.folder(path[:k], 0o755)
		}
	}
}
