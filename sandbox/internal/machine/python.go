package machine

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/engine/disk"
	"github.com/merit-rl/merit/sandbox/internal/fuel"
	"github.com/merit-rl/merit/sandbox/interpreter"
	sdk "github.com/merit-rl/merit/sdk/python"
)

//go:embed python.py
var bootPython []byte

// Where CPython finds its standard library, and packages.
const (
	pythonHome    = "/usr/local"
	pythonLibrary = "/usr/local/lib/python313.zip"
	pythonBoot    = "/usr/local/lib/merit_machine.py"
	sitePackages  = "/usr/local/lib/python3.13/site-packages"
)

// standIns are the modules of rewards that run threads in place and stand in for what needs
// native code.
var standIns = func() map[string][]byte {
	files := map[string][]byte{}
	_ = fs.WalkDir(sdk.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files[name], err = sdk.Files.ReadFile(name)
		}
		return err
	})
	return files
}()

// python is what calls CPython needs: a pool of instances, and where its function is.
type python struct {
	*pool
	library         []byte
	packages        map[string][]byte
	function, empty uint32
}

var errPython = errors.New("the Python interpreter did not start as it should")

// loadPython compiles and starts CPython.
func loadPython(ctx context.Context, e *engine.Engine, by interpreter.Interpreter, folder string, packages map[string][]byte, l Limits) (*python, error) {
	module, library, err := by.Open(folder)
	if err != nil {
		return nil, err
	}
	library = bytes.Clone(library)
	gate := fuel.DefaultLimits()
	gate.MemoryPages, gate.TableEntries, gate.Bytes = mostPages, 20_000, 64<<20
	gate.AllowImport = func(i fuel.Import) bool { _, fits := engine.Known(e.Imports(), i); return fits }
	program, err := e.Compile(ctx, engine.Module{Title: by.Title, Digest: by.Digest, Valid: true, Read: func() ([]byte, error) { return module, nil }},
		fuel.Options{Limits: gate}, func(*fuel.Info) error { return nil })
	if err != nil {
		return nil, err
	}
	program.Process = engine.Process{
		Args: []string{"python3", "-S", "-P", "-B", pythonBoot},
		Env:  []string{"PYTHONHASHSEED=0", "PYTHONHOME=" + pythonHome, "HOME=/"},
	}
	p := &python{pool: &pool{program: program, limits: l, depth: depth * uint64(max(by.Depth, 1))}, library: library, packages: packages}
	if err := p.start(ctx, e); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// start runs the boot script, and keeps the state after it.
func (p *python) start(ctx context.Context, e *engine.Engine) error {
	d := disk.New(p.limits.disk(), epoch, 1)
	lay := &layout{disk: d}
	p.layOut(lay)
	if lay.err != nil {
		return lay.err
	}
	out, errs := &sink{most: 1 << 10}, &sink{most: 1 << 16}
	stop, err := p.boot(ctx, e, p.sum(), engine.NewTable(d, [3]*engine.Open{silent(), engine.OpenStream(out), engine.OpenStream(errs)}), "_start", out)
	if err != nil {
		return err
	}
	if stop != nil && (stop.Kind != engine.Exited || stop.Code != 0) {
		return fmt.Errorf("%w: %v\n%s", errPython, stop, errs.data)
	}
	if n, _ := fmt.Sscan(string(out.data), &p.function, &p.empty); n != 2 {
		return errPython
	}
	return nil
}

// sum digests the files that the start reads.
func (p *python) sum() (sum [32]byte) {
	h := sha256.New()
	_, _ = h.Write(bootPython)
	for _, name := range slices.Sorted(maps.Keys(standIns)) {
		fmt.Fprintf(h, "%q %x\n", name, sha256.Sum256(standIns[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(p.packages)) {
		fmt.Fprintf(h, "%q %x\n", name, sha256.Sum256(p.packages[name]))
	}
	h.Sum(sum[:0])
	return sum
}

// layOut puts the library where CPython looks for it.
func (p *python) layOut(l *layout) {
	l.parents(sitePackages + "/README.txt")
	l.file(pythonBoot, 0o644, string(bootPython))
	for _, name := range slices.Sorted(maps.Keys(standIns)) {
		at := "/usr/local/lib/merit/" + name
		l.parents(at)
		l.shared(at, 0o644, standIns[name])
	}
	l.shared(pythonLibrary, 0o644, p.library)
	for _, name := range slices.Sorted(maps.Keys(p.packages)) {
		at := sitePackages + "/" + name
		l.parents(at)
		l.shared(at, 0o644, p.packages[name])
	}
}

// run runs CPython in an instance, whose Begin or Nest is the caller's, to its end.
func (p *python) run(i *engine.Instance) (status int, stop *engine.Stop) {
	const objectType, typeCall = 4, 64
	word := func(at uint32) uint32 {
		b, ok := i.Bytes(at, 4)
		if !ok {
			return 0
		}
		return binary.LittleEndian.Uint32(b)
	}
	call := i.TableFunc(word(word(p.function+objectType)+typeCall), "iii", "i")
	if call == nil {
		return 1, &engine.Stop{Kind: engine.Refused, Err: errPython}
	}
	_, stop = i.Call(call, uint64(p.function), uint64(p.empty), 0)
	switch {
	case stop == nil:
		return 1, nil
	case stop.Kind == engine.Exited:
		return int(stop.Code), nil
	}
	return 1, stop
}

// mark is how a message of CPython begins; everything else that is written to standard input
// is lost.
var mark = []byte("\x00merit ")

// Limit implements engine.Channel.
func (*process) Limit() int { return 64 << 20 }

// message is what CPython asks for.
type message struct {
	Do   string          `json:"do"`
	Args []string        `json:"args"`
	Env  []string        `json:"env"`
	Dir  string          `json:"dir"`
	In   json.RawMessage `json:"in"`
	Out  json.RawMessage `json:"out"`
	Err  json.RawMessage `json:"err"`
	// Input is standard input, in base64; nil if In is a descriptor.
	Input *string `json:"input"`
	Path  string  `json:"path"`
	FD    *uint32 `json:"fd"`
	To    *uint32 `json:"to"`
	Mode  uint16  `json:"mode"`
}

// Exchange implements engine.Channel.
func (p *process) Exchange(text []byte) []byte {
	var m message
	text, ok := bytes.CutPrefix(text, mark)
	if !ok || strictjson.Unmarshal(text, &m) != nil {
		return nil
	}
	switch m.Do {
	case "request":
		return framed(p.request, nil, nil)
	case "chmod":
		return framed([]byte(fmt.Sprintf(`{"errno": %d}`, p.chmod(m))), nil, nil)
	case "dup":
		return framed(p.dup(m), nil, nil)
	case "pipe":
		read, write, errno := p.table.Pipe()
		return framed([]byte(fmt.Sprintf(`{"read": %d, "write": %d, "errno": %d}`, read, write, errno)), nil, nil)
	case "spawn":
		return p.subprocess(m)
	}
	return nil
}

// dup copies a descriptor, to another one if that is given.
func (p *process) dup(m message) []byte {
	var fd uint32
	ok := false
	switch {
	case m.FD == nil:
	case m.To == nil:
		fd, ok = p.table.Dup(*m.FD)
	default:
		fd, ok = *m.To, p.table.Dup2(*m.FD, *m.To)
	}
	errno := disk.OK
	if !ok {
		errno = disk.BadFile
	}
	return []byte(fmt.Sprintf(`{"fd": %d, "errno": %d}`, fd, errno))
}

// framed is an answer: its size and that of the first part, the parts.
func framed(head, out, err []byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(head)+len(out)+len(err)))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(head)))
	return append(append(append(b, head...), out...), err...)
}

// chmod sets permissions, and returns an errno.
func (p *process) chmod(m message) disk.Errno {
	d := p.machine.disk
	if m.FD != nil {
		if n, ok := p.table.Node(*m.FD); ok {
			d.Chmod(n, m.Mode)
			return disk.OK
		}
		return disk.BadFile
	}
	at, errno := d.Lookup(disk.Root, m.Path, true)
	switch {
	case errno != disk.OK:
		return errno
	case at.Node == disk.None:
		return disk.NoEntry
	}
	d.Chmod(at.Node, m.Mode)
	return disk.OK
}

// subprocess runs a command for CPython.
func (p *process) subprocess(m message) []byte {
	most := p.machine.userland.limits.Output
	out, errs := &sink{most: most}, &sink{most: most}
	var standard [3]*engine.Open
	pick := func(raw json.RawMessage, captured *sink) *engine.Open {
		var fd uint32
		if strictjson.Unmarshal(raw, &fd) == nil {
			if o := p.table.Get(fd); o != nil {
				return o
			}
		}
		return engine.OpenStream(captured)
	}
	standard[0] = pick(m.In, &sink{})
	if m.Input != nil {
		data, _ := base64.StdEncoding.DecodeString(*m.Input)
		standard[0] = engine.OpenStream(&source{data})
	}
	standard[1] = pick(m.Out, out)
	if standard[2] = standard[1]; string(m.Err) != `"out"` {
		standard[2] = pick(m.Err, errs)
	}
	e := p.finish(p.child("shell", request{Args: m.Args, Env: m.Env, Dir: m.Dir}, standard))
	return framed([]byte(fmt.Sprintf(`{"status": %d, "out": %d}`, e.status, len(out.data))), out.data, errs.data)
}
