package wasi

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/merit-rl/merit/sandbox/internal/engine/disk"
)

// The functions of descriptors, for instances with a table.

// ErrDeadlock stops a process that waits for a pipe that nobody will write to or read from.
var ErrDeadlock = errors.New("every process waits for another: a pipe is open that nobody writes to, or that nobody reads from")

// get returns what a descriptor refers to, or nil.
func (w *World) get(fd uint64) *Open { return w.Table.Get(uint32(fd)) }

func tableWrite(w *World, p []uint64) uint64 {
	o := w.get(p[0])
	if uint32(p[0]) == 0 && w.Channel() != nil {
		return w.send(p)
	}
	if o == nil {
		return errnoBadf
	}
	w.Table.wait(p[0], o, true)
	total, failed := 0, disk.OK
	errno := w.vectors(uint32(p[1]), uint32(p[2]), func(b []byte) bool {
		n, errno, err := w.Table.write(o, b)
		if err != nil {
			w.Abort(err)
		}
		total, failed = total+n, errno
		return n == len(b) && errno == disk.OK
	})
	return w.moved(uint32(p[3]), total, errno, failed)
}

func tableRead(w *World, p []uint64) uint64 {
	o := w.get(p[0])
	if uint32(p[0]) == 0 && len(w.Answer) > 0 {
		return fdRead(w, p)
	}
	if o == nil {
		return errnoBadf
	}
	w.Table.wait(p[0], o, false)
	total, failed := 0, disk.OK
	errno := w.vectors(uint32(p[1]), uint32(p[2]), func(b []byte) bool {
		n, errno := w.Table.read(o, b)
		total, failed = total+n, errno
		return n == len(b) && errno == disk.OK
	})
	return w.moved(uint32(p[3]), total, errno, failed)
}

// moved reports how many bytes were moved, or why none were.
func (w *World) moved(at uint32, total int, errno uint64, failed disk.Errno) uint64 {
	switch {
	case errno != errnoSuccess:
		return errno
	case failed != disk.OK && total == 0:
		return uint64(failed)
	}
	return w.put32(at, uint32(total))
}

func tablePread(w *World, p []uint64) uint64  { return w.at(p, w.Table.readAt) }
func tablePwrite(w *World, p []uint64) uint64 { return w.at(p, w.Table.writeAt) }

// at moves bytes at an offset, which stays where it is.
func (w *World) at(p []uint64, move func(o *Open, b []byte, offset uint64) (int, disk.Errno)) uint64 {
	o := w.get(p[0])
	if o == nil {
		return errnoBadf
	}
	total, failed := 0, disk.OK
	errno := w.vectors(uint32(p[1]), uint32(p[2]), func(b []byte) bool {
		n, errno := move(o, b, p[3]+uint64(total))
		total, failed = total+n, errno
		return n == len(b) && errno == disk.OK
	})
	return w.moved(uint32(p[4]), total, errno, failed)
}

func tableSeek(w *World, p []uint64) uint64 {
	o := w.get(p[0])
	if o == nil {
		return errnoBadf
	}
	if o.node == disk.None {
		return errnoSpipe
	}
	base := uint64(0)
	switch uint32(p[2]) {
	case 0:
	case 1:
		base = o.offset
	case 2:
		base = w.Table.Disk.Stat(o.node).Size
	default:
		return errnoInval
	}
	if int64(base)+int64(p[1]) < 0 {
		return errnoInval
	}
	o.offset = base + p[1]
	return w.put64(uint32(p[3]), o.offset)
}

func tableTell(w *World, p []uint64) uint64 {
	o := w.get(p[0])
	if o == nil {
		return errnoBadf
	}
	if o.node == disk.None {
		return errnoSpipe
	}
	return w.put64(uint32(p[1]), o.offset)
}

func tableClose(w *World, p []uint64) uint64 {
	if !w.Table.Close(uint32(p[0])) {
		return errnoBadf
	}
	return errnoSuccess
}

// tableRenumber is dup2 that closes the first descriptor.
func tableRenumber(w *World, p []uint64) uint64 {
	from, to := uint32(p[0]), uint32(p[1])
	o := w.Table.Get(from)
	if o == nil || w.Table.Get(to) == nil {
		return errnoBadf
	}
	if from != to {
		w.Table.Close(to)
		w.Table.open[to], w.Table.open[from] = o, nil
	}
	return errnoSuccess
}

func tableStat(w *World, p []uint64) uint64 {
	o := w.get(p[0])
	if o == nil {
		return errnoBadf
	}
	return w.putInfo(uint32(p[1]), w.Table.info(o))
}

// info describes what is open. Pipes and streams are as a FIFO of Linux appears in WASI.
func (t *Table) info(o *Open) disk.Info {
	if o.node != disk.None {
		return t.Disk.Stat(o.node)
	}
	return disk.Info{Number: 1, Links: 1, Mode: 0o600, Modified: t.Disk.Clock, Changed: t.Disk.Clock}
}

// The permissions are in the number of the device, which WASI has room for: it has none for
// permissions.
const modeShift = 48

func (w *World) putInfo(at uint32, i disk.Info) uint64 {
	b, ok := w.Bytes(at, 64)
	if !ok {
		return errnoFault
	}
	clear(b)
	le := binary.LittleEndian
	le.PutUint64(b, uint64(i.Mode)<<modeShift|1)
	le.PutUint64(b[8:], i.Number)
	b[16] = byte(i.Kind)
	le.PutUint64(b[24:], i.Links)
	le.PutUint64(b[32:], i.Size)
	le.PutUint64(b[40:], i.Modified)
	le.PutUint64(b[48:], i.Modified)
	le.PutUint64(b[56:], i.Changed)
	return errnoSuccess
}

const (
	flagAppend   = 1 << 0
	flagNonblock = 1 << 2
)

func tableFdstat(w *World, p []uint64) uint64 {
	o := w.get(p[0])
	if o == nil {
		return errnoBadf
	}
	b, ok := w.Bytes(uint32(p[1]), 24)
	if !ok {
		return errnoFault
	}
	clear(b)
	b[0] = byte(w.Table.info(o).Kind)
	if o.appends {
		b[2] |= flagAppend
	}
	if o.nonblock {
		b[2] |= flagNonblock
	}
	const all = 1<<30 - 1
	binary.LittleEndian.PutUint64(b[8:], all)
	binary.LittleEndian.PutUint64(b[16:], all)
	return errnoSuccess
}

func tableSetFlags(w *World, p []uint64) uint64 {
	o := w.get(p[0])
	if o == nil {
		return errnoBadf
	}
	o.appends, o.nonblock = p[1]&flagAppend != 0, p[1]&flagNonblock != 0
	return errnoSuccess
}

func tableSetSize(w *World, p []uint64) uint64 {
	o := w.get(p[0])
	if o == nil {
		return errnoBadf
	}
	if o.node == disk.None || w.Table.Disk.Stat(o.node).Kind != disk.File {
		return errnoInval
	}
	return uint64(w.Table.Disk.Truncate(o.node, p[1]))
}

// tableSync and its kind succeed: nothing is behind the disk.
func tableSync(w *World, p []uint64) uint64 {
	if w.get(p[0]) == nil {
		return errnoBadf
	}
	return errnoSuccess
}

func tableSetTimes(w *World, p []uint64) uint64 {
	o := w.get(p[0])
	if o == nil {
		return errnoBadf
	}
	if o.node != disk.None {
		w.Table.touch(o.node, p[2], uint32(p[3]))
	}
	return errnoSuccess
}

// touch sets the time of a node, to a time or to now.
func (t *Table) touch(n uint32, modified uint64, flags uint32) {
	const modify, now = 1 << 2, 1 << 3
	switch {
	case flags&now != 0:
		t.Disk.Touch(n, t.Disk.Clock)
	case flags&modify != 0:
		t.Disk.Touch(n, modified)
	}
}

func tableReaddir(w *World, p []uint64) uint64 {
	o := w.get(p[0])
	if o == nil || o.node == disk.None || w.Table.Disk.Stat(o.node).Kind != disk.Folder {
		return errnoBadf
	}
	room, ok := w.Bytes(uint32(p[1]), uint32(p[2]))
	if !ok {
		return errnoFault
	}
	w.Charge(uint64(len(room)))
	used := 0
	for k := p[3]; used < len(room); k++ {
		e, ok := w.Table.Disk.Entry(o.node, k)
		if !ok {
			break
		}
		entry := make([]byte, 24, 24+len(e.Name))
		binary.LittleEndian.PutUint64(entry, k+1)
		binary.LittleEndian.PutUint64(entry[8:], e.Number)
		binary.LittleEndian.PutUint32(entry[16:], uint32(len(e.Name)))
		entry[20] = byte(e.Kind)
		used += copy(room[used:], append(entry, e.Name...))
	}
	return w.put32(uint32(p[4]), uint32(used))
}

func tablePrestat(w *World, p []uint64) uint64 {
	if uint32(p[0]) != rootHandle {
		return errnoBadf
	}
	return w.put64(uint32(p[1]), 1<<32)
}

func tablePrestatName(w *World, p []uint64) uint64 {
	b, ok := w.Bytes(uint32(p[1]), uint32(p[2]))
	if uint32(p[0]) != rootHandle || !ok || len(b) == 0 {
		return errnoBadf
	}
	b[0] = '/'
	return errnoSuccess
}

func tableClock(w *World, p []uint64) uint64 {
	d := w.Table.Disk
	d.Clock += clockStep
	switch uint32(p[0]) {
	case 0:
		return w.put64(uint32(p[2]), d.Clock)
	case 1, 2, 3:
		return w.put64(uint32(p[2]), d.Clock-epoch)
	}
	return errnoInval
}

func tableRandom(w *World, p []uint64) uint64 {
	b, ok := w.Bytes(uint32(p[0]), uint32(p[1]))
	if !ok {
		return errnoFault
	}
	w.Charge(uint64(len(b)))
	w.Table.fill(b)
	return errnoSuccess
}

// tablePoll answers with the descriptors that are ready. If none is, it moves the clock to
// the first time limit, or lets those processes continue that have the other end of a standard stream.
func tablePoll(w *World, p []uint64) uint64 {
	in, out, n := uint32(p[0]), uint32(p[1]), uint32(p[2])
	if n == 0 || n > maxEvents {
		return errnoInval
	}
	w.Charge(uint64(n) * subscription)
	view, ok := w.Bytes(in, n*subscription)
	events, fits := w.Bytes(out, n*event)
	if !ok || !fits {
		return errnoFault
	}
	subs := append([]byte(nil), view...) // the events may overlap them
	w.Table.waitAny(subs)
	found, first, limit := uint32(0), -1, uint64(0)
	for k := range int(n) {
		s := subs[k*subscription : (k+1)*subscription]
		if s[8] == 0 {
			if at := w.Table.due(s); first < 0 || at < limit {
				first, limit = k, at
			}
			continue
		}
		o := w.Table.Get(binary.LittleEndian.Uint32(s[16:]))
		if o == nil || o.Ready(s[8] == 2) {
			putEvent(events[found*event:], s, o == nil)
			found++
		}
	}
	switch {
	case first >= 0 && (found == 0 || limit <= w.Table.Disk.Clock):
		w.Table.Disk.Clock = max(w.Table.Disk.Clock, limit)
		putEvent(events[found*event:], subs[first*subscription:], false)
		found++
	case found == 0:
		w.Abort(ErrDeadlock)
	}
	return w.put32(uint32(p[3]), found)
}

// waitAny waits for a standard stream among subscriptions, if the process waits in the host and there is
// nothing else to answer.
func (t *Table) waitAny(subs []byte) {
	var stream *Open
	var fd uint64
	write := false
	for s := range slices.Chunk(subs, subscription) {
		n, writes := binary.LittleEndian.Uint32(s[16:]), s[8] == 2
		o := t.Get(n)
		switch {
		case s[8] == 0 || o == nil || o.Ready(writes):
			return
		case stream == nil && n <= 2:
			stream, fd, write = o, uint64(n), writes
		}
	}
	if stream != nil {
		t.wait(fd, stream, write)
	}
}

// due returns when a time limit passes, on the clock of the machine.
func (t *Table) due(s []byte) uint64 {
	state := State{Elapsed: t.Disk.Clock - epoch}
	state.wait(binary.LittleEndian.Uint32(s[16:]), binary.LittleEndian.Uint64(s[24:]), s[40]&1 != 0)
	return epoch + state.Elapsed
}

func putEvent(e, s []byte, bad bool) {
	clear(e[:event])
	copy(e, s[:8])
	e[10] = s[8]
	if bad {
		e[8] = errnoBadf
	}
}
