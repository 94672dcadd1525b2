package machine

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/engine/disk"
	"github.com/merit-rl/merit/sandbox/internal/fuel"
)

type buffer struct{ b []byte }

func (b *buffer) Read(p []byte) int    { return 0 }
func (b *buffer) Write(p []byte) error { b.b = append(b.b, p...); return nil }

type host struct{ req []byte }

func (h *host) Request() []byte                                        { return h.req }
func (h *host) Spawn(i *engine.Instance, r []byte, _ [3]uint32) []byte { return nil }

func TestFeasible(t *testing.T) {
	wasm, err := os.ReadFile(os.Getenv("U"))
	if err != nil {
		t.Skip()
	}
	ctx := context.Background()
	e, err := engine.New(engine.Options{CacheDir: "/tmp/ucache", CacheBytes: 1 << 30, Imports: engine.MachineImports(), Warn: func(err error) { t.Log(err) }})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	l := fuel.DefaultLimits()
	l.MemoryPages, l.TableEntries, l.Bytes = 256<<4, 20000, 64<<20
	l.Complexity = 4_000_000
	l.AllowImport = func(fuel.Import) bool { return true }
	at := time.Now()
	p, err := e.Compile(ctx, engine.Bytes(wasm), fuel.Options{Limits: l}, func(*fuel.Info) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Log("compile", time.Since(at))
	p.Process.Args = []string{"userland"}
	at = time.Now()
	i, err := p.Instantiate(ctx, 256<<20)
	if err != nil {
		t.Fatal(err)
	}
	d := disk.New(disk.Limits{Bytes: 64 << 20, Files: 10000, Depth: 100}, 1_640_995_200_000_000_000, 1)
	out, errs := &buffer{}, &buffer{}
	table := func() *engine.Table {
		return engine.NewTable(d, [3]*engine.Open{engine.OpenStream(&buffer{}), engine.OpenStream(out), engine.OpenStream(errs)})
	}
	h := &host{}
	i.Host = h
	i.Attach(table())
	budget := engine.Budget{Fuel: 100e9, Depth: 100000, Wall: time.Minute}
	i.Begin(ctx, budget)
	if _, stop := i.Call(i.Func("_initialize")); stop != nil {
		t.Fatal(stop, string(errs.b))
	}
	used, _ := i.End()
	t.Log("start", time.Since(at), "fuel", used, "memory", i.Size()>>20)
	if _, err := i.Snapshot(); err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{
		`echo hello`, `echo hello`, `echo a | while read x; do echo got $x; done`,
		"cat=1; x=$(echo sub); echo $x > /f; read y < /f; echo y=$y; a=(1 2 3); echo ${#a[@]} ${a[1]}; f() { echo in $1; }; f z; (cd /; pwd); set -euo pipefail; read l <<E\nheredoc $x\nE\necho $l; echo /*; false; echo no",
	} {
		out.b, errs.b = nil, nil
		at = time.Now()
		if err := i.Restore(); err != nil {
			t.Fatal(err)
		}
		restore := time.Since(at)
		i.Attach(table())
		h.req, _ = json.Marshal(map[string]any{"args": []string{"bash", "-c", script}, "env": []string{"PATH=/bin", "HOME=/"}, "dir": "/"})
		i.Begin(ctx, budget)
		status, stop := i.Call(i.Func("run"))
		used, _ := i.End()
		t.Logf("%s\n%s%sstatus %d %v fuel %d restore %v time %v mem %d", script, out.b, errs.b, status, stop, used, restore, time.Since(at), i.Size()>>20)
	}
}
