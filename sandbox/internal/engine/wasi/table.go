package wasi

import "github.com/merit-rl/merit/sandbox/internal/engine/disk"

// Table is what a process of a machine has open, and the disk that it works on. An instance
// with a table has the clock and the random numbers of the disk, and may change files.
type Table struct {
	Disk *disk.Disk
	// Wait, if set, lets others run until o is ready. Reads and writes of the standard streams,
	// or of all pipes if Blocks is set, then wait instead of failing with Again.
	Wait   func(o *Open, write bool)
	Blocks bool
	open   []*Open // by descriptor; nil where none is open
}

// Open is an open file, folder, pipe or stream, which descriptors of several processes may
// share, as after dup and fork in POSIX.
type Open struct {
	refs     int
	node     uint32 // of the disk; disk.None for what has none
	offset   uint64
	appends  bool
	nonblock bool
	device   string
	pipe     *pipe
	writes   bool // the end of the pipe
	stream   Stream
}

// Stream is a standard stream that the host provides. Read returns 0 at the end.
type Stream interface {
	Read(p []byte) int
	Write(p []byte) error
}

// NewTable returns the table of a process with three standard streams and the root folder,
// which is what a runtime expects to have been opened for it.
func NewTable(d *disk.Disk, standard [3]*Open) *Table {
	t := &Table{Disk: d}
	for _, o := range standard {
		t.add(o)
	}
	t.add(t.node(disk.Root))
	return t
}

// OpenStream opens a stream of the host.
func OpenStream(s Stream) *Open { return &Open{node: disk.None, stream: s} }

// node opens a node of the disk.
func (t *Table) node(n uint32) *Open {
	t.Disk.Open(n)
	return &Open{node: n, device: t.Disk.Stat(n).Device}
}

// Get returns what a descriptor refers to, or nil.
func (t *Table) Get(fd uint32) *Open {
	if fd >= uint32(len(t.open)) {
		return nil
	}
	return t.open[fd]
}

// add gives the lowest free descriptor to o.
func (t *Table) add(o *Open) (fd uint32, ok bool) {
	o.refs++
	for fd, taken := range t.open {
		if taken == nil {
			t.open[fd] = o
			return uint32(fd), true
		}
	}
	if len(t.open) == maxHandles {
		t.release(o)
		return 0, false
	}
	t.open = append(t.open, o)
	return uint32(len(t.open) - 1), true
}

// Close closes a descriptor.
func (t *Table) Close(fd uint32) bool {
	o := t.Get(fd)
	if o == nil {
		return false
	}
	t.open[fd] = nil
	t.release(o)
	return true
}

// CloseAll closes every descriptor: the process has ended.
func (t *Table) CloseAll() {
	for fd := range t.open {
		t.Close(uint32(fd))
	}
}

func (t *Table) release(o *Open) {
	if o.refs--; o.refs > 0 {
		return
	}
	switch {
	case o.pipe != nil && o.writes:
		o.pipe.writers--
	case o.pipe != nil:
		o.pipe.readers--
	case o.node != disk.None:
		t.Disk.Close(o.node)
	}
}

// pipe is a buffer between two ends.
type pipe struct {
	data             []byte
	readers, writers int
}

const pipeRoom = 64 << 10

// Pipe opens both ends of a pipe.
func (t *Table) Pipe() (read, write uint32, errno disk.Errno) {
	p := &pipe{readers: 1, writers: 1}
	read, ok := t.add(&Open{node: disk.None, pipe: p, nonblock: true})
	if !ok {
		return 0, 0, disk.TooMany
	}
	if write, ok = t.add(&Open{node: disk.None, pipe: p, writes: true, nonblock: true}); !ok {
		t.Close(read)
		return 0, 0, disk.TooMany
	}
	return read, write, disk.OK
}

// read reads from o, and moves its offset.
func (t *Table) read(o *Open, p []byte) (int, disk.Errno) {
	switch {
	case o.stream != nil:
		return o.stream.Read(p), disk.OK
	case o.pipe != nil:
		return o.pipe.read(p, o.writes)
	case o.device != "":
		return t.readDevice(o.device, p), disk.OK
	}
	n, errno := t.readAt(o, p, o.offset)
	o.offset += uint64(n)
	return n, errno
}

func (t *Table) readAt(o *Open, p []byte, offset uint64) (int, disk.Errno) {
	if o.node == disk.None {
		return 0, disk.NotSeekable
	}
	if t.Disk.Stat(o.node).Kind == disk.Folder {
		return 0, disk.IsFolder
	}
	data := t.Disk.Data(o.node)
	return copy(p, data[min(offset, uint64(len(data))):]), disk.OK
}

func (t *Table) readDevice(name string, p []byte) int {
	switch name {
	case "zero", "full":
		clear(p)
	case "random", "urandom":
		t.fill(p)
	default:
		return 0
	}
	return len(p)
}

// fill fills p with random numbers of the machine.
func (t *Table) fill(p []byte) {
	s := State{Random: t.Disk.Random}
	s.fill(p)
	t.Disk.Random = s.Random
}

func (p *pipe) read(b []byte, writes bool) (int, disk.Errno) {
	switch {
	case writes:
		return 0, disk.BadFile
	case len(p.data) == 0 && p.writers > 0:
		return 0, disk.Again
	}
	n := copy(b, p.data)
	p.data = p.data[n:]
	return n, disk.OK
}

// write writes to o, and moves its offset.
func (t *Table) write(o *Open, p []byte) (int, disk.Errno, error) {
	switch {
	case o.stream != nil:
		return len(p), disk.OK, o.stream.Write(p)
	case o.pipe != nil:
		n, errno := o.pipe.write(p, o.writes)
		return n, errno, nil
	case o.device == "full":
		return 0, disk.NoSpace, nil
	case o.device != "":
		return len(p), disk.OK, nil
	}
	if o.appends {
		o.offset = t.Disk.Stat(o.node).Size
	}
	n, errno := t.writeAt(o, p, o.offset)
	o.offset += uint64(n)
	return n, errno, nil
}

func (t *Table) writeAt(o *Open, p []byte, offset uint64) (int, disk.Errno) {
	if o.node == disk.None {
		return 0, disk.NotSeekable
	}
	if t.Disk.Stat(o.node).Kind != disk.File {
		return 0, disk.BadFile
	}
	if errno := t.Disk.Write(o.node, p, offset); errno != disk.OK {
		return 0, errno
	}
	return len(p), disk.OK
}

func (p *pipe) write(b []byte, writes bool) (int, disk.Errno) {
	room := pipeRoom - len(p.data)
	switch {
	case !writes:
		return 0, disk.BadFile
	case p.readers == 0:
		return 0, disk.BrokenPipe
	case room == 0 && len(b) > 0:
		return 0, disk.Again
	}
	n := min(room, len(b))
	p.data = append(p.data, b[:n]...)
	return n, disk.OK
}

// wait waits until o is ready, if the process waits in the host.
func (t *Table) wait(fd uint64, o *Open, write bool) {
	if t.Wait == nil || !t.Blocks && fd > 2 {
		return
	}
	for !o.Ready(write) {
		t.Wait(o, write)
	}
}

// Find returns the descriptor of o, if it is open here.
func (t *Table) Find(o *Open) (fd uint32, ok bool) {
	for fd, x := range t.open {
		if x == o {
			return uint32(fd), true
		}
	}
	return 0, false
}

// Ready reports whether a read, or a write, would not have to wait.
func (o *Open) Ready(write bool) bool {
	switch {
	case o.pipe == nil:
		return true
	case write:
		return o.pipe.readers == 0 || len(o.pipe.data) < pipeRoom
	}
	return o.pipe.writers == 0 || len(o.pipe.data) > 0
}

// Node returns the node of the disk that a descriptor refers to.
func (t *Table) Node(fd uint32) (uint32, bool) {
	o := t.Get(fd)
	if o == nil || o.node == disk.None {
		return 0, false
	}
	return o.node, true
}

// Print writes a text to what is open.
func (t *Table) Print(o *Open, text string) error {
	_, _, err := t.write(o, []byte(text))
	return err
}

// Dup gives what a descriptor refers to another one: the lowest that is free.
func (t *Table) Dup(fd uint32) (uint32, bool) {
	o := t.Get(fd)
	if o == nil {
		return 0, false
	}
	return t.add(o)
}

// Dup2 makes a descriptor refer to what another one does.
func (t *Table) Dup2(from, to uint32) bool {
	o := t.Get(from)
	if o == nil || to >= maxHandles {
		return false
	}
	if from == to {
		return true
	}
	o.refs++
	t.Close(to)
	for uint32(len(t.open)) <= to {
		t.open = append(t.open, nil)
	}
	t.open[to] = o
	return true
}
