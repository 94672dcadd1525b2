package wasi

import "encoding/binary"

// Kinds of file and the bits of path_open and rights, of WASI preview 1.
const (
	typeCharacter = 2
	typeFolder    = 3
	typeFile      = 4

	openCreate = 1 << 0
	openFolder = 1 << 1
	openTrunc  = 1 << 3

	rightWrite = 1 << 6

	maxPath = 4096
)

// lookup resolves the path at (ptr, size) from a descriptor.
func (w *World) lookup(fd, ptr, size uint64) (*node, uint64) {
	h := w.handle(fd)
	if h == nil {
		return nil, errnoBadf
	}
	b, ok := w.Bytes(uint32(ptr), uint32(size))
	if !ok {
		return nil, errnoFault
	}
	if len(b) > maxPath {
		return nil, errnoNametoolong
	}
	w.Charge(uint64(len(b)))
	return h.node.walk(string(b))
}

func pathOpen(w *World, p []uint64) uint64 {
	fd, errno := w.openPath(p)
	if errno != errnoSuccess {
		w.refusePath("path_open", p[2], p[3])
		return errno
	}
	return w.put32(uint32(p[8]), fd)
}

func (w *World) openPath(p []uint64) (fd uint32, errno uint64) {
	flags, rights := uint32(p[4]), p[5]
	n, errno := w.lookup(p[0], p[2], p[3])
	switch {
	case errno == errnoNoent && flags&openCreate != 0:
		return 0, errnoRofs
	case errno != errnoSuccess:
		return 0, errno
	case flags&openFolder != 0 && !n.folder:
		return 0, errnoNotdir
	case flags&openTrunc != 0, rights&rightWrite != 0 && !n.folder:
		return 0, errnoRofs
	}
	if n.parent == n { // a program that opens the root looks for files in it
		w.refusePath("path_open", p[2], p[3])
	}
	fd, ok := w.open(n)
	if !ok {
		return 0, errnoMfile
	}
	return fd, errnoSuccess
}

func pathFilestatGet(w *World, p []uint64) uint64 {
	n, errno := w.lookup(p[0], p[2], p[3])
	if errno != errnoSuccess {
		w.refusePath("path_filestat_get", p[2], p[3])
		return errno
	}
	return w.putStat(uint32(p[4]), n, n.kind())
}

func fdFilestatGet(w *World, p []uint64) uint64 {
	if h := w.handle(p[0]); h != nil {
		return w.putStat(uint32(p[1]), h.node, h.node.kind())
	}
	if uint32(p[0]) > 2 {
		return errnoBadf
	}
	return w.putStat(uint32(p[1]), &node{}, typeCharacter)
}

// putStat writes a filestat; all times are 0.
func (w *World) putStat(at uint32, n *node, kind byte) uint64 {
	b, ok := w.Bytes(at, 64)
	if !ok {
		return errnoFault
	}
	clear(b)
	binary.LittleEndian.PutUint64(b[8:], n.id)
	b[16] = kind
	binary.LittleEndian.PutUint64(b[24:], 1)
	binary.LittleEndian.PutUint64(b[32:], uint64(len(w.content(n))))
	return errnoSuccess
}

// read fills the buffers from a file and moves offset.
func (w *World) read(n *node, offset *uint64, list, count, result uint32) uint64 {
	if n.folder {
		return errnoIsdir
	}
	total, data := 0, w.content(n)
	errno := w.vectors(list, count, func(b []byte) bool {
		if *offset > uint64(len(data)) {
			return false
		}
		k := copy(b, data[*offset:])
		total += k
		*offset += uint64(k)
		return k == len(b)
	})
	if errno != errnoSuccess {
		return errno
	}
	return w.put32(result, uint32(total))
}

func fdPread(w *World, p []uint64) uint64 {
	h := w.handle(p[0])
	if h == nil {
		return errnoBadf
	}
	offset := p[3]
	return w.read(h.node, &offset, uint32(p[1]), uint32(p[2]), uint32(p[4]))
}

func fdSeek(w *World, p []uint64) uint64 {
	h := w.handle(p[0])
	if h == nil {
		return standard(p[0], errnoSpipe)
	}
	base := uint64(0)
	switch uint32(p[2]) {
	case 0:
	case 1:
		base = h.offset
	case 2:
		base = uint64(len(w.content(h.node)))
	default:
		return errnoInval
	}
	at := int64(base) + int64(p[1])
	if at < 0 {
		return errnoInval
	}
	h.offset = uint64(at)
	return w.put64(uint32(p[3]), h.offset)
}

func fdTell(w *World, p []uint64) uint64 {
	if h := w.handle(p[0]); h != nil {
		return w.put64(uint32(p[1]), h.offset)
	}
	return standard(p[0], errnoSpipe)
}

func fdClose(w *World, p []uint64) uint64 {
	h := w.handle(p[0])
	if h == nil {
		return standard(p[0], errnoSuccess)
	}
	*h = handle{} // that of the root is a copy, so the root stays open
	w.State.trim()
	return errnoSuccess
}

// fdReaddir lists a folder from a cookie, which is the number of the entry.
func fdReaddir(w *World, p []uint64) uint64 {
	h := w.handle(p[0])
	if h == nil || !h.node.folder {
		return errnoBadf
	}
	room, ok := w.Bytes(uint32(p[1]), uint32(p[2]))
	if !ok {
		return errnoFault
	}
	w.Charge(uint64(len(room)))
	used := 0
	for k := p[3]; k < uint64(len(h.node.children)) && used < len(room); k++ {
		c := h.node.children[k]
		entry := make([]byte, 24, 24+len(c.name))
		binary.LittleEndian.PutUint64(entry, k+1)
		binary.LittleEndian.PutUint64(entry[8:], c.id)
		binary.LittleEndian.PutUint32(entry[16:], uint32(len(c.name)))
		entry[20] = c.kind()
		used += copy(room[used:], append(entry, c.name...))
	}
	return w.put32(uint32(p[4]), uint32(used))
}
