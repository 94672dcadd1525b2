package machine

import (
	"context"
	"encoding/json"
	"errors"
	"math"

	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/sandbox/internal/engine"
)

// process is one process of a machine, as its instance sees the host. A process that another
// one started has its own goroutine, but only one of them runs: its parent gives it a
// turn, which ends when it ends or waits for a pipe. So the order of everything that processes
// do is a function of what they do.
type process struct {
	machine  *Machine
	ctx      context.Context
	instance *engine.Instance
	table    *engine.Table
	request  []byte
	depth    int // how many processes wait for it

	from     *pool
	main     func(*engine.Instance) (int, *engine.Stop)
	children []*process   // those that have not ended, by number less one; nil for others
	resume   chan bool    // true: to end
	events   chan event   // what ended the turn
	standard *engine.Open // standard error, for what ends the process
	began    bool
	ended    bool
}

// event ends a turn.
type event struct {
	open   *engine.Open // what the process waits for; nil means that it ended
	write  bool
	status int
	stop   *engine.Stop
	denied bool
}

var (
	_ engine.Machine = (*process)(nil)
	_ engine.Channel = (*process)(nil)

	errKilled = errors.New("the process ended with the one that started it")
)

// Request implements engine.Machine.
func (p *process) Request() []byte { return p.request }

// Spawn implements engine.Machine: it makes a process of CPython for the shell.
func (p *process) Spawn(text []byte, fds [3]uint32) uint32 {
	var q request
	if strictjson.Unmarshal(text, &q) != nil {
		return 0
	}
	var standard [3]*engine.Open
	for k, fd := range fds {
		standard[k] = p.table.Get(fd)
	}
	p.children = append(p.children, p.child("python", q, standard))
	return uint32(len(p.children))
}

// Turn implements engine.Machine.
func (p *process) Turn(number uint32) (engine.Waiting, uint32) {
	if number == 0 || number > uint32(len(p.children)) || p.children[number-1] == nil {
		return engine.Ended, 126
	}
	e := p.turn(p.children[number-1])
	if e.open == nil {
		p.children[number-1] = nil
		return engine.Ended, uint32(e.status)
	}
	fd, ok := p.table.Find(e.open)
	switch {
	case !ok:
		p.instance.Abort(engine.ErrDeadlock)
	case e.write:
		return engine.Writing, fd
	}
	return engine.Reading, fd
}

// child makes a process that p started.
func (p *process) child(kind string, q request, standard [3]*engine.Open) *process {
	u := p.machine.userland
	for k := range standard {
		if standard[k] == nil {
			standard[k] = silent()
		}
	}
	from, main := &u.pool, u.run
	if kind == "python" {
		if u.python == nil {
			p.instance.Abort(errNoPython)
		}
		from, main = u.python.pool, u.python.run
	}
	if p.depth >= u.limits.Nested {
		p.instance.Abort(errNested)
	}
	i, err := from.get(p.ctx)
	if err != nil {
		p.instance.Abort(err)
	}
	c := p.machine.process(p.ctx, i, q, standard, p.depth+1)
	c.from, c.main, c.standard = from, main, standard[2]
	c.resume, c.events = make(chan bool), make(chan event)
	c.table.Wait, c.table.Blocks = c.wait, kind == "python"
	return c
}

// turn lets a child run until it ends or waits. If the fuel ends, it does not return.
func (p *process) turn(c *process) (e event) {
	run := func() *engine.Stop {
		if c.began {
			c.resume <- false
		} else {
			c.began = true
			go c.live()
		}
		e = <-c.events
		c.ended = e.open == nil
		return e.stop
	}
	nest := p.instance.Nest
	if c.began {
		nest = p.instance.Again
	}
	_, stop := nest(c.instance, engine.Budget{Fuel: math.MaxInt64, Depth: c.from.depth}, run)
	if e.open != nil {
		return e
	}
	c.end()
	switch {
	case stop == nil:
		return e
	case stop.Kind == engine.Refused:
		p.instance.Abort(stop.Err)
	}
	e.status = c.crashed(stop, e.denied)
	return e
}

// live is the goroutine of a process.
func (p *process) live() {
	status, stop := p.main(p.instance)
	p.events <- event{status: status, stop: stop, denied: p.instance.MemoryDenied()}
}

// wait ends the turn of a process until its parent gives it another one.
func (p *process) wait(o *engine.Open, write bool) {
	p.events <- event{open: o, write: write}
	if <-p.resume {
		p.instance.Abort(errKilled)
	}
}

// finish runs a child to its end. While the child waits, p waits too.
func (p *process) finish(c *process) event {
	p.children = append(p.children, c)
	at := len(p.children) - 1
	for {
		e := p.turn(c)
		if e.open == nil {
			p.children[at] = nil
			return e
		}
		if p.table.Wait == nil {
			p.instance.Abort(engine.ErrDeadlock)
		}
		p.table.Wait(e.open, e.write)
	}
}

// end frees what a process had, and ends the processes that it started.
func (p *process) end() {
	if p.from == nil {
		return
	}
	for _, c := range p.children {
		if c == nil {
			continue
		}
		if c.began && !c.ended {
			c.resume <- true
			<-c.events
		}
		c.end()
	}
	p.children = nil
	p.table.CloseAll()
	p.from.put(p.instance)
	p.from = nil
}

// crashed says on standard error why a process ended that did not end by itself.
func (p *process) crashed(stop *engine.Stop, denied bool) int {
	text, status := "Segmentation fault: "+stop.Error(), 139
	if denied {
		text, status = "Killed: the process was refused more memory", 137
	}
	_ = p.table.Print(p.standard, text+"\n")
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
