// Package disk is the file system of a machine, in memory: a tree of files, folders,
// symbolic links and devices with the rules of POSIX. A Fork of it costs a few hundred
// bytes: both share every file until one of them changes it. The clock of the machine is
// part of it, so that the times of files are functions of what programs do.
//
// It knows neither processes nor WebAssembly; package wasi opens its files for guests.
package disk

import (
	"cmp"
	"slices"
)

// Limits bound a disk. What exceeds them fails with NoSpace, NameTooLong or Loop.
type Limits struct {
	Bytes int64 // of content, names and nodes together
	Files int   // files, folders and links
	Depth int   // of nested folders
}

// What is part of the format rather than configured, as in Linux.
const (
	mostName  = 255
	mostPath  = 4096
	mostLinks = 40  // symbolic links that the resolution of one path follows
	nodeBytes = 256 // what a node takes of Limits.Bytes besides its content
)

// Kind is the type of a node, as WASI numbers it.
type Kind byte

// The kinds.
const (
	Device Kind = 2
	Folder Kind = 3
	File   Kind = 4
	Link   Kind = 7
)

// Root is the number of the root folder.
const Root uint32 = 0

// None is the number of no node.
const None = ^uint32(0)

// Disk is a file system. It is not safe for concurrent use.
type Disk struct {
	// Clock is the machine's time, in ns since 1970. Every change moves it by Tick.
	Clock uint64
	// Random is the state of the machine's random numbers.
	Random uint64

	limits Limits
	me     *owner
	chunks []*chunk
	size   uint32   // how many numbers were given out
	free   []uint32 // those that can be given out again, the last first
	bytes  int64
	opened map[uint32]int // how often open descriptors refer to a node
}

// Tick is by how much the clock moves when it is read or something changes, in ns.
const Tick = 1_000

// An owner may change what bears its mark; everything else is shared with a fork.
type owner struct{ _ byte }

// chunk is a part of the table of nodes.
type chunk struct {
	owner *owner
	nodes [chunkSize]*node
}

const chunkSize = 64

// node is a file, folder, link or device.
type node struct {
	owner    *owner
	kind     Kind
	mode     uint16
	device   string // of a device, its name in /dev
	links    uint32
	parent   uint32 // of a folder
	modified uint64
	changed  uint64
	data     []byte  // of a file; the target of a link
	owned    bool    // data may be written in place
	entries  []entry // of a folder, by name
}

type entry struct {
	name string
	node uint32
}

// New returns a disk with an empty root folder.
func New(l Limits, clock, random uint64) *Disk {
	d := &Disk{Clock: clock, Random: random, limits: l, me: &owner{}}
	d.add(&node{kind: Folder, mode: 0o755, links: 2, parent: Root})
	return d
}

// Fork returns a copy. Files that are open stay open in d only.
func (d *Disk) Fork() *Disk {
	d.me = &owner{}
	f := *d
	f.me, f.opened = &owner{}, nil
	f.chunks, f.free = slices.Clone(d.chunks), slices.Clone(d.free)
	return &f
}

// Used returns the bytes and the nodes that count towards the limits.
func (d *Disk) Used() (bytes int64, files int) { return d.bytes, int(d.size) - len(d.free) }

// Limits returns the limits of the disk.
func (d *Disk) Limits() Limits { return d.limits }

// now moves the clock and returns it.
func (d *Disk) now() uint64 {
	d.Clock += Tick
	return d.Clock
}

// look returns a node to read.
func (d *Disk) look(n uint32) *node {
	if n >= d.size {
		return nil
	}
	return d.chunks[n/chunkSize].nodes[n%chunkSize]
}

// edit returns a node to change, which it copies if it is shared.
func (d *Disk) edit(n uint32) *node {
	c := d.own(n / chunkSize)
	at := c.nodes[n%chunkSize]
	if at.owner != d.me {
		copied := *at
		copied.owner, copied.owned, copied.entries = d.me, false, slices.Clone(at.entries)
		at = &copied
		c.nodes[n%chunkSize] = at
	}
	return at
}

// own returns a chunk of the table to change.
func (d *Disk) own(k uint32) *chunk {
	if c := d.chunks[k]; c.owner == d.me {
		return c
	}
	copied := *d.chunks[k]
	copied.owner = d.me
	d.chunks[k] = &copied
	return &copied
}

// add gives a node a number.
func (d *Disk) add(n *node) uint32 {
	n.owner, n.owned = d.me, true
	n.modified = d.now()
	n.changed = n.modified
	at := d.size
	if k := len(d.free); k > 0 {
		at, d.free = d.free[k-1], d.free[:k-1]
	} else {
		if d.size++; int(at/chunkSize) == len(d.chunks) {
			d.chunks = append(d.chunks, &chunk{owner: d.me})
		}
	}
	d.own(at / chunkSize).nodes[at%chunkSize] = n
	d.bytes += nodeBytes + int64(len(n.data))
	return at
}

// room returns NoSpace if the limits do not allow so much more.
func (d *Disk) room(bytes int64, files int) Errno {
	if d.bytes+bytes > d.limits.Bytes || int(d.size)-len(d.free)+files > d.limits.Files {
		return NoSpace
	}
	return OK
}

// Open keeps a node although it may lose its names.
func (d *Disk) Open(n uint32) {
	if d.opened == nil {
		d.opened = map[uint32]int{}
	}
	d.opened[n]++
}

// Close ends what Open began.
func (d *Disk) Close(n uint32) {
	if d.opened[n]--; d.opened[n] <= 0 {
		delete(d.opened, n)
		d.drop(n)
	}
}

// drop frees a node without names that nobody uses.
func (d *Disk) drop(n uint32) {
	at := d.look(n)
	if at == nil || at.links > 0 || d.opened[n] > 0 {
		return
	}
	d.bytes -= nodeBytes + int64(len(at.data))
	d.own(n / chunkSize).nodes[n%chunkSize] = nil
	d.free = append(d.free, n)
}

// find returns where a name is, or would be, in a folder.
func (n *node) find(name string) (int, bool) {
	return slices.BinarySearchFunc(n.entries, name, func(e entry, name string) int { return cmp.Compare(e.name, name) })
}
