package disk

import (
	"bytes"
	"slices"
)

// Compare calls differs with each path, in order, at which a node of d is not what it is in
// another disk: in kind, permissions, content or existence. Times do not count. A folder that
// is only in one of them is followed by everything in it.
func (d *Disk) Compare(before *Disk, differs func(path string, was, is bool)) {
	compare(before, d, Root, Root, "", differs)
}

// compare compares two nodes with the same path; None is none.
func compare(a, b *Disk, m, n uint32, path string, differs func(path string, was, is bool)) {
	x, y := a.nodeOrNone(m), b.nodeOrNone(n)
	if x != y && !x.same(y) {
		name := path
		if name == "" {
			name = "/"
		}
		differs(name, x.links > 0, y.links > 0)
	}
	left, right := x.entries, y.entries
	for len(left) > 0 || len(right) > 0 {
		i, j := None, None
		var name string
		switch {
		case len(right) == 0 || len(left) > 0 && left[0].name < right[0].name:
			name, i, left = left[0].name, left[0].node, left[1:]
		case len(left) == 0 || right[0].name < left[0].name:
			name, j, right = right[0].name, right[0].node, right[1:]
		default:
			name, i, j, left, right = left[0].name, left[0].node, right[0].node, left[1:], right[1:]
		}
		compare(a, b, i, j, path+"/"+name, differs)
	}
}

var nothing node

func (d *Disk) nodeOrNone(n uint32) *node {
	if n == None {
		return &nothing
	}
	return d.look(n)
}

// same reports whether programs see no difference between two nodes but the entries of folders
// and times.
func (n *node) same(m *node) bool {
	return n.kind == m.kind && n.mode == m.mode && n.device == m.device && bytes.Equal(n.data, m.data)
}

// Copy makes a node of another disk at a place where nothing is: a folder without what is in
// it.
func (d *Disk) Copy(at Place, from *Disk, n uint32) Errno {
	x := from.look(n)
	data := x.data
	if x.kind == Device {
		data = []byte(x.device)
	}
	if x.kind != File {
		_, errno := d.Make(at, x.kind, x.mode, string(data))
		return errno
	}
	made, errno := d.Make(at, File, x.mode, "")
	if errno == OK {
		errno = d.Write(made, slices.Clip(data), 0)
	}
	return errno
}
