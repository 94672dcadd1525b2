package machine

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/merit-rl/merit/sandbox/internal/engine"
)

// process is one process of a machine, as its instance sees the host.
type process struct {
	machine  *Machine
	ctx      context.Context
	instance *engine.Instance
	table    *engine.Table
	request  []byte
	depth    int // how many processes wait for it
}

var (
	_ engine.Machine = (*process)(nil)
	_ engine.Channel = (*process)(nil)
)

// Request implements engine.Machine.
func (p *process) Request() []byte { return p.request }

// Spawn implements engine.Machine: it runs CPython for the shell.
func (p *process) Spawn(_ *engine.Instance, text []byte, fds [3]uint32) []byte {
	var q request
	status := 126
	if json.Unmarshal(text, &q) == nil {
		var standard [3]*engine.Open
		for k, fd := range fds {
			standard[k] = p.table.Get(fd)
		}
		status = p.nest("python", q, standard)
	}
	return binary.LittleEndian.AppendUint32(nil, uint32(status))
}

// nest runs a command in an instance of its own, on the fuel of p, and returns its exit status.
func (p *process) nest(kind string, q request, standard [3]*engine.Open) (status int) {
	u := p.machine.userland
	for k := range standard {
		if standard[k] == nil {
			standard[k] = silent()
		}
	}
	from, run := &u.pool, u.run
	if kind == "python" {
		if u.python == nil {
			return 127
		}
		from, run = u.python.pool, u.python.run
	}
	if p.depth >= u.limits.Nested {
		p.instance.Abort(errNested)
	}
	i, err := from.get(p.ctx)
	if err != nil {
		p.instance.Abort(err)
	}
	child := p.machine.process(p.ctx, i, q, standard, p.depth+1)
	_, stop := p.instance.Nest(i, engine.Budget{Fuel: u.limits.Fuel, Depth: from.depth}, func() (stop *engine.Stop) {
		status, stop = run(i)
		return stop
	})
	denied := i.MemoryDenied()
	child.table.CloseAll()
	from.put(i)
	if stop == nil {
		return status
	}
	if stop.Kind == engine.Refused {
		p.instance.Abort(stop.Err)
	}
	return p.crashed(standard[2], stop, denied)
}

// crashed says on standard error why a process ended that did not end by itself.
func (p *process) crashed(errs *engine.Open, stop *engine.Stop, denied bool) int {
	text := "Segmentation fault: " + stop.Error()
	status := 139
	if denied {
		text, status = "Killed: the process was refused more memory", 137
	}
	_ = p.table.Print(errs, fmt.Sprintf("%s\n", text))
	return status
}

// process attaches an instance to the machine.
func (m *Machine) process(ctx context.Context, i *engine.Instance, q request, standard [3]*engine.Open, depth int) *process {
	p := &process{machine: m, ctx: ctx, instance: i, table: engine.NewTable(m.disk, standard), depth: depth}
	p.request, _ = json.Marshal(q) // texts and booleans always encode
	i.Host, i.Channel = p, p
	i.Attach(p.table)
	return p
}
