package disk

import "slices"

// Info describes a node.
type Info struct {
	Number   uint64
	Kind     Kind
	Mode     uint16 // permissions
	Links    uint64
	Size     uint64
	Modified uint64 // ns since 1970
	Changed  uint64
	Device   string // of a device, its name in /dev
}

// Stat describes a node.
func (d *Disk) Stat(n uint32) Info {
	at := d.look(n)
	i := Info{Number: uint64(n) + numbered, Kind: at.kind, Mode: at.mode, Links: uint64(at.links), Size: uint64(len(at.data)),
		Modified: at.modified, Changed: at.changed, Device: at.device}
	if at.kind == Folder {
		i.Size = 4096
	}
	return i
}

// Chmod sets the permissions of a node.
func (d *Disk) Chmod(n uint32, mode uint16) {
	at := d.edit(n)
	at.mode, at.changed = mode&0o7777, d.now()
}

// Touch sets when a node was modified.
func (d *Disk) Touch(n uint32, modified uint64) {
	at := d.edit(n)
	at.modified, at.changed = modified, d.now()
}

// Data returns the content of a file or the target of a link, which must not be changed. It is
// valid until the disk changes.
func (d *Disk) Data(n uint32) []byte { return d.look(n).data }

// Write writes into a file at an offset; what lies between its end and the offset becomes
// zeros.
func (d *Disk) Write(n uint32, p []byte, offset uint64) Errno {
	if len(p) == 0 {
		return OK
	}
	size := uint64(len(d.look(n).data))
	end := offset + uint64(len(p))
	if end < offset || end > uint64(d.limits.Bytes) {
		return TooBig
	}
	if end > size {
		if errno := d.resize(n, end); errno != OK {
			return errno
		}
	}
	at := d.writable(n)
	copy(at.data[offset:], p)
	d.touched(at)
	return OK
}

// Truncate sets the size of a file.
func (d *Disk) Truncate(n uint32, size uint64) Errno {
	if size > uint64(d.limits.Bytes) {
		return TooBig
	}
	if errno := d.resize(n, size); errno != OK {
		return errno
	}
	d.touched(d.edit(n))
	return OK
}

func (d *Disk) resize(n uint32, size uint64) Errno {
	was := len(d.look(n).data)
	if errno := d.room(int64(size)-int64(was), 0); int(size) > was && errno != OK {
		return errno
	}
	at := d.edit(n)
	d.bytes += int64(size) - int64(was)
	switch {
	case int(size) <= was && at.owned:
		at.data = at.data[:size]
	case int(size) <= was:
		at.data = at.data[:size:size] // shared, so that a later write copies it
	default:
		at = d.writable(n)
		at.data = slices.Grow(at.data, int(size)-was)[:size]
		clear(at.data[was:])
	}
	return OK
}

// writable returns a file whose content may be written in place.
func (d *Disk) writable(n uint32) *node {
	at := d.edit(n)
	if !at.owned {
		at.data, at.owned = slices.Clone(at.data), true
	}
	return at
}

// Entry is a name in a folder.
type Entry struct {
	Name   string
	Number uint64
	Kind   Kind
}

// Entry returns the entry of a folder with an index: ".", "..", and then the names in order.
func (d *Disk) Entry(n uint32, k uint64) (e Entry, ok bool) {
	at := d.look(n)
	node := n
	switch {
	case k == 0:
		e.Name = "."
	case k == 1:
		e.Name, node = "..", at.parent
	case k-2 < uint64(len(at.entries)):
		e.Name, node = at.entries[k-2].name, at.entries[k-2].node
	default:
		return e, false
	}
	e.Number, e.Kind = uint64(node)+numbered, d.look(node).kind
	return e, true
}

// Share makes data the content of an empty file, without a copy. It does not count towards the
// limits, and must never change.
func (d *Disk) Share(n uint32, data []byte) {
	at := d.edit(n)
	at.data, at.owned = data[:len(data):len(data)], false
	d.limits.Bytes += int64(len(data))
	d.bytes += int64(len(data))
}

// Node returns the number of the node that an entry names.
func Node(e Entry) uint32 { return uint32(e.Number - numbered) }

// numbered is by how much the numbers of nodes that programs see are higher: 0 and 1 are never
// the number of a file.
const numbered = 2
