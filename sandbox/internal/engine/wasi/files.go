package wasi

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
)

// Files is a tree of files in memory that guests may read. It has no links and
// no devices, and no path leads out of it.
type Files struct {
	root *node
	all  []*node // those with the numbers 2, 3, …

	digested sync.Once
	digest   [32]byte
}

type node struct {
	name     string
	id       uint64  // its number in the tree
	data     []byte  // of a file
	shared   *Shared // of a file that is read when it is used; data is nil
	folder   bool
	parent   *node
	children []*node // of a folder, by name
}

// Shared is a file of several trees, whose bytes exist once and are read when a guest
// first uses it.
type Shared struct {
	// Digest identifies the content without reading it.
	Digest string
	Read   func() ([]byte, error)
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
	f := &Files{root: root}
	for _, p := range paths {
		n := f.add(p)
		n.folder, n.data = false, content[p]
	}
	return f
}

// Share adds a file to the tree, which nobody may use yet.
func (f *Files) Share(p string, file *Shared) {
	n := f.add(p)
	n.folder, n.shared = false, file
}

// add returns the node at a path, which it makes if there is none.
func (f *Files) add(p string) *node {
	at := f.root
	for _, name := range strings.Split(path.Clean(p), "/") {
		k, found := at.find(name)
		if !found {
			n := &node{name: name, id: uint64(len(f.all) + 2), parent: at, folder: true}
			at.children, f.all = slices.Insert(at.children, k, n), append(f.all, n)
		}
		at = at.children[k]
	}
	return at
}

// content returns the bytes of a file. If they cannot be read, the call of the guest stops.
func (w *World) content(n *node) []byte {
	if n.shared == nil {
		return n.data
	}
	data, err := n.shared.Read()
	if err != nil {
		w.Abort(err)
	}
	return data
}

// sum returns a digest of paths and contents. It reads all files but shared ones the first time.
func (f *Files) sum() [32]byte {
	f.digested.Do(func() {
		h := sha256.New()
		for _, n := range f.all {
			if n.shared != nil {
				fmt.Fprintf(h, "%d %q shared %s\n", n.parent.id, n.name, n.shared.Digest)
				continue
			}
			fmt.Fprintf(h, "%d %q %t %x\n", n.parent.id, n.name, n.folder, sha256.Sum256(n.data))
		}
		h.Sum(f.digest[:0])
	})
	return f.digest
}

// byID returns the file or folder with a number, or nil. f may be nil.
func (f *Files) byID(id uint64) *node {
	switch {
	case f == nil:
		return nil
	case id == f.root.id:
		return f.root
	case id >= 2 && id-2 < uint64(len(f.all)):
		return f.all[id-2]
	}
	return nil
}

func (n *node) find(name string) (int, bool) {
	return slices.BinarySearchFunc(n.children, name, func(c *node, name string) int { return cmp.Compare(c.name, name) })
}

// walk resolves a path relative to n. A path that leads above the root returns
// errnoNotcapable.
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

func (n *node) kind() byte {
	if n.folder {
		return typeFolder
	}
	return typeFile
}
