package disk

import "strings"

// Place is where a path leads: a name in a folder, and the node of that name.
type Place struct {
	Folder uint32
	Name   string // empty if the path ends in a folder by "/", "." or ".."
	Node   uint32 // None if nothing has the name
	// Slash means that the path ends with a slash, so that it must be a folder.
	Slash bool
}

// Lookup resolves a path from a folder. A symbolic link at its end is followed if follow is
// set. ".." of the root is the root. The path may lead to nothing, in a folder that exists.
func (d *Disk) Lookup(from uint32, path string, follow bool) (Place, Errno) {
	links := 0
	return d.walk(from, path, follow, &links)
}

func (d *Disk) walk(from uint32, path string, follow bool, links *int) (Place, Errno) {
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
		if at, errno = d.enter(at, name, at.Slash); errno != OK {
			return at, errno
		}
		if n := d.look(at.Node); at.Node != None && n.kind == Link && (rest != "" || follow || at.Slash) {
			if *links++; *links > mostLinks {
				return at, Loop
			}
			slash := at.Slash
			if at, errno = d.walk(at.Folder, string(n.data), true, links); errno != OK {
				return at, errno
			}
			at.Slash = at.Slash || slash
		}
	}
	if n := d.look(at.Node); at.Node != None && at.Slash && n.kind != Folder {
		return at, NotFolder
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
		return Place{Folder: at.Node, Node: at.Node, Slash: true}, OK
	case name == "..":
		return Place{Folder: folder.parent, Node: folder.parent, Slash: true}, OK
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
