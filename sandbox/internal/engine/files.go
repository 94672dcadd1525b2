package engine

import (
	"cmp"
	"encoding/binary"
	"path"
	"slices"
	"strings"
)

// Files is a tree of files in memory that guests may read. There is nothing
// behind it: no link, no device, no way out.
type Files struct{ root *node }

type node struct {
	name     string
	id       uint64 // its number in the tree
	data     []byte // of a file
	folder   bool
	parent   *node
	children []*node // of a folder, by name
}

// NewFiles builds a tree from slash-separated paths without a leading slash.
func NewFiles(content map[string][]byte) *Files {
	root := &node{folder: true}
	root.parent = root
	paths := make([]string, 0, len(content))
	for p := range content {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	next := uint64(1)
	add := func(at *node, name string) *node {
		k, found := at.find(name)
		if !found {
			next++
			at.children = slices.Insert(at.children, k, &node{name: name, id: next, parent: at, folder: true})
		}
		return at.children[k]
	}
	for _, p := range paths {
		at := root
		for _, name := range strings.Split(path.Clean(p), "/") {
			at = add(at, name)
		}
		at.folder, at.data = false, content[p]
	}
	return &Files{root}
}

func (n *node) find(name string) (int, bool) {
	return slices.BinarySearchFunc(n.children, name, func(c *node, name string) int { return cmp.Compare(c.name, name) })
}

// walk resolves a path as seen from n. A path that leads above the root ends
// with errnoNotcapable.
func (n *node) walk(p string) (*node, uint64) {
	for _, name := range strings.Split(p, "/") {
		switch {
		case name == "" || name == ".":
		case !n.folder:
			return nil, errnoNotdir
		case name == ".." && n.parent == n:
			return nil, errnoNotcapable
		case name == "..":
			n = n.parent
		default:
			k, found := n.find(name)
			if !found {
				return nil, errnoNoent
			}
			n = n.children[k]
		}
	}
	return n, errnoSuccess
}

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

func (n *node) kind() byte {
	if n.folder {
		return typeFolder
	}
	return typeFile
}

// lookup resolves the path at (ptr, size) from a descriptor.
func (i *Instance) lookup(fd, ptr, size uint64) (*node, uint64) {
	h := i.handle(fd)
	if h == nil {
		return nil, errnoBadf
	}
	b, ok := i.Bytes(uint32(ptr), uint32(size))
	if !ok {
		return nil, errnoFault
	}
	if len(b) > maxPath {
		return nil, errnoNametoolong
	}
	i.Charge(uint64(len(b)))
	return h.node.walk(string(b))
}

func pathOpen(i *Instance, p []uint64) uint64 {
	flags, rights := uint32(p[4]), p[5]
	n, errno := i.lookup(p[0], p[2], p[3])
	switch {
	case errno == errnoNoent && flags&openCreate != 0:
		return errnoRofs
	case errno != errnoSuccess:
		return errno
	case flags&openFolder != 0 && !n.folder:
		return errnoNotdir
	case flags&openTrunc != 0, rights&rightWrite != 0 && !n.folder:
		return errnoRofs
	}
	fd, ok := i.open(n)
	if !ok {
		return errnoMfile
	}
	return i.put32(uint32(p[8]), fd)
}

func pathFilestatGet(i *Instance, p []uint64) uint64 {
	n, errno := i.lookup(p[0], p[2], p[3])
	if errno != errnoSuccess {
		return errno
	}
	return i.putStat(uint32(p[4]), n, n.kind())
}

func fdFilestatGet(i *Instance, p []uint64) uint64 {
	if h := i.handle(p[0]); h != nil {
		return i.putStat(uint32(p[1]), h.node, h.node.kind())
	}
	if uint32(p[0]) > 2 {
		return errnoBadf
	}
	return i.putStat(uint32(p[1]), &node{}, typeCharacter)
}

// putStat writes a filestat; all times are 0.
func (i *Instance) putStat(at uint32, n *node, kind byte) uint64 {
	b, ok := i.Bytes(at, 64)
	if !ok {
		return errnoFault
	}
	clear(b)
	binary.LittleEndian.PutUint64(b[8:], n.id)
	b[16] = kind
	binary.LittleEndian.PutUint64(b[24:], 1)
	binary.LittleEndian.PutUint64(b[32:], uint64(len(n.data)))
	return errnoSuccess
}

// read fills the buffers from a file and moves offset.
func (i *Instance) read(n *node, offset *uint64, list, count, result uint32) uint64 {
	if n.folder {
		return errnoIsdir
	}
	total := 0
	errno := i.vectors(list, count, func(b []byte) bool {
		if *offset > uint64(len(n.data)) {
			return false
		}
		k := copy(b, n.data[*offset:])
		total += k
		*offset += uint64(k)
		return k == len(b)
	})
	if errno != errnoSuccess {
		return errno
	}
	return i.put32(result, uint32(total))
}

func fdPread(i *Instance, p []uint64) uint64 {
	h := i.handle(p[0])
	if h == nil {
		return errnoBadf
	}
	offset := p[3]
	return i.read(h.node, &offset, uint32(p[1]), uint32(p[2]), uint32(p[4]))
}

func fdSeek(i *Instance, p []uint64) uint64 {
	h := i.handle(p[0])
	if h == nil {
		return standard(p[0], errnoSpipe)
	}
	base := uint64(0)
	switch uint32(p[2]) {
	case 0:
	case 1:
		base = h.offset
	case 2:
		base = uint64(len(h.node.data))
	default:
		return errnoInval
	}
	at := int64(base) + int64(p[1])
	if at < 0 {
		return errnoInval
	}
	h.offset = uint64(at)
	return i.put64(uint32(p[3]), h.offset)
}

func fdTell(i *Instance, p []uint64) uint64 {
	if h := i.handle(p[0]); h != nil {
		return i.put64(uint32(p[1]), h.offset)
	}
	return standard(p[0], errnoSpipe)
}

func fdClose(i *Instance, p []uint64) uint64 {
	h := i.handle(p[0])
	if h == nil {
		return standard(p[0], errnoSuccess)
	}
	*h = handle{} // the root's is a copy: it stays open
	return errnoSuccess
}

// fdReaddir lists a folder from a cookie, which is the number of the entry.
func fdReaddir(i *Instance, p []uint64) uint64 {
	h := i.handle(p[0])
	if h == nil || !h.node.folder {
		return errnoBadf
	}
	room, ok := i.Bytes(uint32(p[1]), uint32(p[2]))
	if !ok {
		return errnoFault
	}
	i.Charge(uint64(len(room)))
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
	return i.put32(uint32(p[4]), uint32(used))
}
