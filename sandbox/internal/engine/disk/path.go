package disk

import "strings"

// Place is where a path leads: a name in a folder, and the node of that name.
type Place struct {
	Folder uint32
	Name   string // "." and ".." if the path ends so; empty for the root
	Node   uint32 // None if nothing has the name
	// Slash means that the path ends with a slash, so that it must be a folder.
	Slash bool
}

// named reports whether the place is a name that can be given and taken away.
func (p Place) named() bool { return p.Name != "" && p.Name != "." && p.Name != ".." }

// Lookup resolves a path from a folder. A symbolic link at its end is followed if follow is
// set. ".." of the root is the root. The path may lead to nothing, in a folder that exists.
func (d *Disk) Lookup(from uint32, path string, follow bool) (Place, Errno) {
	w := walk{Disk: d, slash: true}
	at, errno := w.walk(from, path, follow)
	if errno == OK && at.Node != None && at.Slash && d.look(at.Node).kind != Folder {
		return at, NotFolder
	}
	return at, errno
}

// Name resolves a path to a name that is to be made, moved or removed: a symbolic link at its
// end is never followed, not even before a slash.
func (d *Disk) Name(from uint32, path string) (Place, Errno) {
	w := walk{Disk: d}
	return w.walk(from, path, false)
}

// walk is the resolution of one path.
type walk struct {
	*Disk
	slash bool // a slash follows a link at the end
	links int  // that were followed
}

func (w *walk) walk(from uint32, path string, follow bool) (Place, Errno) {
	switch {
	case len(path) > mostPath:
		return Place{}, NameTooLong
	case path == "" || strings.IndexByte(path, 0) >= 0:
		return Place{}, NoEntry
	case path[0] == '/':
		from = Root
	}
	at := Place{Folder: from, Node: from}
	for rest := strings.TrimLeft(path, "/"); rest != ""; {
		var name string
		name, rest, at.Slash = step(rest)
		if at.Node == None {
			return at, NoEntry
		}
		var errno Errno
		if at, errno = w.enter(at, name, at.Slash); errno != OK {
			return at, errno
		}
		if n := w.look(at.Node); at.Node != None && n.kind == Link && (rest != "" || follow || at.Slash && w.slash) {
			if w.links++; w.links > mostLinks {
				return at, Loop
			}
			slash := at.Slash
			if at, errno = w.walk(at.Folder, string(n.data), true); errno != OK {
				return at, errno
			}
			at.Slash = at.Slash || slash
		}
	}
	return at, OK
}

// step cuts the first name off a path.
func step(path string) (name, rest string, slash bool) {
	name, rest, slash = strings.Cut(path, "/")
	return name, strings.TrimLeft(rest, "/"), slash
}

// enter follows one name.
func (d *Disk) enter(at Place, name string, slash bool) (Place, Errno) {
	folder := d.look(at.Node)
	switch {
	case folder == nil || folder.kind != Folder:
		return at, NotFolder
	case len(name) > mostName:
		return at, NameTooLong
	case name == ".":
		return Place{Folder: at.Node, Name: name, Node: at.Node, Slash: true}, OK
	case name == "..":
		return Place{Folder: folder.parent, Name: name, Node: folder.parent, Slash: true}, OK
	}
	next := Place{Folder: at.Node, Name: name, Node: None, Slash: slash}
	if k, found := folder.find(name); found {
		next.Node = folder.entries[k].node
	}
	return next, OK
}

// Path returns the absolute path of a folder.
func (d *Disk) Path(folder uint32) string {
	path := ""
	for folder != Root {
		n := d.look(folder)
		if n == nil || n.links == 0 {
			return "" // it was removed
		}
		for _, e := range d.look(n.parent).entries {
			if e.node == folder {
				path = "/" + e.name + path
			}
		}
		folder = n.parent
	}
	if path == "" {
		return "/"
	}
	return path
}

// depth is how many folders contain a folder.
func (d *Disk) depth(folder uint32) (n int) {
	for ; folder != Root; folder = d.look(folder).parent {
		n++
	}
	return n
}

// within reports whether a folder is outer or in it.
func (d *Disk) within(folder, outer uint32) bool {
	for ; folder != outer; folder = d.look(folder).parent {
		if folder == Root {
			return false
		}
	}
	return true
}
