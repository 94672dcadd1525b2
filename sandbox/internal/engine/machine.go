package engine

import (
	"encoding/binary"

	"github.com/merit-rl/merit/sandbox/internal/engine/wasi"
)

type (
	// Table is what a process of a machine has open.
	Table = wasi.Table
	// Open is an open file, folder, pipe or stream.
	Open = wasi.Open
	// Stream is a standard stream that the host provides.
	Stream = wasi.Stream
)

// ErrDeadlock stops a process that waits for a pipe that nobody uses.
var ErrDeadlock = wasi.ErrDeadlock

// NewTable returns the table of a process with three standard streams.
var NewTable = wasi.NewTable

// OpenStream opens a stream of the host.
var OpenStream = wasi.OpenStream

// Attach makes the instance a process of a machine, or, with nil, none.
func (i *Instance) Attach(t *Table) { i.world.Table = t }

// MachineModule is the name from which the userland imports what WASI lacks.
const MachineModule = "merit_machine"

// Machine answers what a process of a machine asks for: Instance.Host may implement it.
type Machine interface {
	// Request is what the process should do.
	Request() []byte
	// Spawn makes a process of another program, with descriptors of the caller as its
	// standard streams, and returns its number.
	Spawn(request []byte, standard [3]uint32) (process uint32)
	// Turn runs a process until it ends or waits for a pipe. It returns what it waits for and
	// the descriptor of the caller, or the exit status.
	Turn(process uint32) (waits Waiting, value uint32)
}

// Waiting is what a process waits for.
type Waiting uint32

// What a process may wait for.
const (
	Ended   Waiting = iota // nothing: the value is its exit status
	Reading                // something to read
	Writing                // room to write
)

// MachineImports are the functions that the userland imports besides those of WASI.
func MachineImports() []Import {
	add := func(name, params string, call func(i *Instance, m Machine, p []uint64) uint64) Import {
		return Import{Module: MachineModule, Name: name, Params: params, Results: "i", Call: func(i *Instance, stack []uint64) {
			m, _ := i.Host.(Machine)
			stack[0] = call(i, m, stack)
		}}
	}
	return []Import{
		add("pipe", "i", makePipe),
		add("chmod", "iiii", func(i *Instance, _ Machine, p []uint64) uint64 {
			return i.world.Chmod(uint32(p[0]), uint32(p[1]), uint32(p[2]), uint16(p[3]))
		}),
		add("request", "ii", func(i *Instance, m Machine, p []uint64) uint64 { return i.give(m.Request(), p[0], p[1]) }),
		add("spawn", "iiiii", func(i *Instance, m Machine, p []uint64) uint64 {
			request, ok := i.Bytes(uint32(p[0]), uint32(p[1]))
			if !ok {
				return 0
			}
			i.Charge(uint64(len(request)))
			return uint64(m.Spawn(append([]byte(nil), request...), [3]uint32{uint32(p[2]), uint32(p[3]), uint32(p[4])}))
		}),
		add("turn", "ii", func(i *Instance, m Machine, p []uint64) uint64 {
			waits, value := m.Turn(uint32(p[0]))
			if b, ok := i.Bytes(uint32(p[1]), 4); ok {
				binary.LittleEndian.PutUint32(b, value)
			}
			return uint64(waits)
		}),
	}
}

// give copies data into the guest, as much as fits, and returns its size.
func (i *Instance) give(data []byte, at, room uint64) uint64 {
	b, ok := i.Bytes(uint32(at), min(uint32(room), uint32(len(data))))
	if !ok {
		return 0
	}
	i.Charge(uint64(copy(b, data)))
	return uint64(len(data))
}

// makePipe implements pipe: two descriptors of 32 bits.
func makePipe(i *Instance, _ Machine, p []uint64) uint64 {
	read, write, errno := i.world.Table.Pipe()
	b, ok := i.Bytes(uint32(p[0]), 8)
	switch {
	case errno != 0:
		return uint64(errno)
	case !ok:
		return wasi.Fault
	}
	binary.LittleEndian.PutUint32(b, read)
	binary.LittleEndian.PutUint32(b[4:], write)
	return 0
}
