package wasi

import (
	"strconv"
	"strings"

	"github.com/merit-rl/merit/sandbox/internal/engine/disk"
)

// The functions of paths, for instances with a table.

const (
	openExclusive = 1 << 2
	followLink    = 1 << 0
)

// text reads a path of the guest.
func (w *World) text(ptr, size uint64) (string, uint64) {
	b, ok := w.Bytes(uint32(ptr), uint32(size))
	if !ok {
		return "", errnoFault
	}
	w.Charge(uint64(len(b)))
	return string(b), errnoSuccess
}

// place resolves the path at (ptr, size) from a descriptor.
func (w *World) place(fd, ptr, size uint64, follow bool) (disk.Place, uint64) {
	o := w.get(fd)
	if o == nil || o.node == disk.None {
		return disk.Place{}, errnoBadf
	}
	path, errno := w.text(ptr, size)
	if errno != errnoSuccess {
		return disk.Place{}, errno
	}
	at, failed := w.Table.Disk.Lookup(o.node, path, follow)
	return at, uint64(failed)
}

// name resolves the path of a name that is to be made, moved or removed.
func (w *World) name(fd, ptr, size uint64) (disk.Place, uint64) {
	o := w.get(fd)
	if o == nil || o.node == disk.None {
		return disk.Place{}, errnoBadf
	}
	path, errno := w.text(ptr, size)
	if errno != errnoSuccess {
		return disk.Place{}, errno
	}
	at, failed := w.Table.Disk.Name(o.node, path)
	return at, uint64(failed)
}

// existing is place for a node that must exist.
func (w *World) existing(fd, ptr, size uint64, follow bool) (uint32, uint64) {
	at, errno := w.place(fd, ptr, size, follow)
	if errno == errnoSuccess && at.Node == disk.None {
		errno = errnoNoent
	}
	return at.Node, errno
}

func tableOpen(w *World, p []uint64) uint64 {
	o, errno := w.openAt(p)
	if errno != errnoSuccess {
		return errno
	}
	fd, ok := w.Table.add(o)
	if !ok {
		return errnoMfile
	}
	return w.put32(uint32(p[8]), fd)
}

func (w *World) openAt(p []uint64) (*Open, uint64) {
	at, errno := w.place(p[0], p[2], p[3], p[1]&followLink != 0)
	if errno != errnoSuccess {
		return nil, errno
	}
	d, flags, node := w.Table.Disk, uint32(p[4]), at.Node
	switch {
	case node != disk.None && flags&(openCreate|openExclusive) == openCreate|openExclusive:
		return nil, uint64(disk.Exists)
	case node == disk.None && flags&openCreate == 0:
		return nil, errnoNoent
	case node == disk.None && at.Slash:
		return nil, errnoIsdir
	case node == disk.None:
		n, failed := d.Make(at, disk.File, 0o644, "")
		if failed != disk.OK {
			return nil, uint64(failed)
		}
		node = n
	}
	return w.openNode(node, flags, p[5], p[7])
}

// openNode opens a node that exists.
func (w *World) openNode(node uint32, flags uint32, rights, mode uint64) (*Open, uint64) {
	d := w.Table.Disk
	switch i := d.Stat(node); {
	case i.Kind == disk.Link:
		return nil, uint64(disk.Loop) // O_NOFOLLOW
	case flags&openFolder != 0 && i.Kind != disk.Folder:
		return nil, errnoNotdir
	case i.Kind == disk.Folder && (flags&openTrunc != 0 || flags&openCreate != 0):
		return nil, errnoIsdir
	case i.Kind == disk.Device:
		if o := w.Table.alias(i.Device); o != nil {
			return o, errnoSuccess
		}
	case flags&openTrunc != 0 && i.Size > 0:
		if errno := d.Truncate(node, 0); errno != disk.OK {
			return nil, uint64(errno)
		}
	}
	o := w.Table.node(node)
	o.appends = mode&flagAppend != 0
	return o, errnoSuccess
}

// alias returns what a device such as stdin stands for, or nil.
func (t *Table) alias(device string) *Open {
	switch device {
	case "stdin":
		return t.Get(0)
	case "stdout":
		return t.Get(1)
	case "stderr":
		return t.Get(2)
	}
	if number, ok := strings.CutPrefix(device, "fd/"); ok {
		if fd, err := strconv.ParseUint(number, 10, 32); err == nil {
			return t.Get(uint32(fd))
		}
	}
	return nil
}

func tablePathStat(w *World, p []uint64) uint64 {
	n, errno := w.existing(p[0], p[2], p[3], p[1]&followLink != 0)
	if errno != errnoSuccess {
		return errno
	}
	return w.putInfo(uint32(p[4]), w.Table.Disk.Stat(n))
}

func tablePathTimes(w *World, p []uint64) uint64 {
	n, errno := w.existing(p[0], p[2], p[3], p[1]&followLink != 0)
	if errno == errnoSuccess {
		w.Table.touch(n, p[5], uint32(p[6]))
	}
	return errno
}

func tableMakeFolder(w *World, p []uint64) uint64 {
	at, errno := w.name(p[0], p[1], p[2])
	if errno != errnoSuccess {
		return errno
	}
	_, failed := w.Table.Disk.Make(at, disk.Folder, 0o755, "")
	return uint64(failed)
}

func tableLink(w *World, p []uint64) uint64 {
	n, errno := w.existing(p[0], p[2], p[3], p[1]&followLink != 0)
	if errno != errnoSuccess {
		return errno
	}
	at, errno := w.name(p[4], p[5], p[6])
	if errno != errnoSuccess {
		return errno
	}
	return uint64(w.Table.Disk.Link(n, at))
}

func tableReadlink(w *World, p []uint64) uint64 {
	n, errno := w.existing(p[0], p[1], p[2], false)
	if errno != errnoSuccess {
		return errno
	}
	b, ok := w.Bytes(uint32(p[3]), uint32(p[4]))
	switch {
	case !ok:
		return errnoFault
	case w.Table.Disk.Stat(n).Kind != disk.Link:
		return errnoInval
	}
	return w.put32(uint32(p[5]), uint32(copy(b, w.Table.Disk.Data(n))))
}

func tableSymlink(w *World, p []uint64) uint64 {
	target, errno := w.text(p[0], p[1])
	if errno != errnoSuccess {
		return errno
	}
	at, errno := w.name(p[2], p[3], p[4])
	switch {
	case errno != errnoSuccess:
		return errno
	case target == "":
		return errnoNoent
	}
	_, failed := w.Table.Disk.Make(at, disk.Link, 0o777, target)
	return uint64(failed)
}

func tableUnlink(w *World, p []uint64) uint64 {
	at, errno := w.name(p[0], p[1], p[2])
	if errno != errnoSuccess {
		return errno
	}
	return uint64(w.Table.Disk.Unlink(at))
}

func tableRemoveFolder(w *World, p []uint64) uint64 {
	at, errno := w.name(p[0], p[1], p[2])
	if errno != errnoSuccess {
		return errno
	}
	return uint64(w.Table.Disk.RemoveFolder(at))
}

func tableRename(w *World, p []uint64) uint64 {
	from, errno := w.name(p[0], p[1], p[2])
	if errno != errnoSuccess {
		return errno
	}
	to, errno := w.name(p[3], p[4], p[5])
	if errno != errnoSuccess {
		return errno
	}
	return uint64(w.Table.Disk.Rename(from, to))
}

// Chmod sets the permissions of the node that a path leads to from a descriptor, or of what
// the descriptor refers to if the path is empty. WASI has no such function.
func (w *World) Chmod(fd, ptr, size uint32, mode uint16) uint64 {
	o := w.Table.Get(fd)
	if o == nil || o.node == disk.None {
		return errnoBadf
	}
	n := o.node
	if size > 0 {
		found, errno := w.existing(uint64(fd), uint64(ptr), uint64(size), true)
		if errno != errnoSuccess {
			return errno
		}
		n = found
	}
	w.Table.Disk.Chmod(n, mode)
	return errnoSuccess
}

// Fault is the errno for an address outside of the memory.
const Fault = errnoFault
