package disk

import "slices"

// Make creates a node at a place where nothing is: a file, a folder, or a link with target as
// data. It returns the number of the node.
func (d *Disk) Make(at Place, kind Kind, mode uint16, data string) (uint32, Errno) {
	if errno := d.vacant(at); errno != OK {
		return None, errno
	}
	if at.Slash && kind != Folder {
		return None, NoEntry
	}
	n := &node{kind: kind, mode: mode & 0o7777, links: 1, data: []byte(data)}
	switch kind {
	case Folder:
		if d.depth(at.Folder) >= d.limits.Depth {
			return None, TooMany
		}
		n.parent, n.links = at.Folder, 2
	case Device:
		n.device, n.data = data, nil
	}
	if errno := d.room(nodeBytes+int64(len(at.Name)+len(data)), 1); errno != OK {
		return None, errno
	}
	number := d.add(n)
	d.insert(at, number)
	return number, OK
}

// vacant returns why nothing can be created at a place.
func (d *Disk) vacant(at Place) Errno {
	switch {
	case at.Node != None || !at.named():
		return Exists
	case d.look(at.Folder).links == 0: // a removed folder
		return NoEntry
	}
	return OK
}

// insert gives a node a name.
func (d *Disk) insert(at Place, number uint32) {
	folder := d.edit(at.Folder)
	k, _ := folder.find(at.Name)
	folder.entries = slices.Insert(folder.entries, k, entry{at.Name, number})
	d.bytes += int64(len(at.Name))
	d.touched(folder)
	if n := d.look(number); n.kind == Folder {
		folder.links++
		d.edit(number).parent = at.Folder
	}
}

// remove takes a name away.
func (d *Disk) remove(at Place) {
	folder := d.edit(at.Folder)
	k, _ := folder.find(at.Name)
	folder.entries = slices.Delete(folder.entries, k, k+1)
	d.bytes -= int64(len(at.Name))
	d.touched(folder)
	if d.look(at.Node).kind == Folder {
		folder.links--
	}
}

func (d *Disk) touched(n *node) {
	n.modified = d.now()
	n.changed = n.modified
}

// Link gives a node that is not a folder another name.
func (d *Disk) Link(node uint32, at Place) Errno {
	if errno := d.vacant(at); errno != OK {
		return errno
	}
	if at.Slash {
		return NoEntry
	}
	if d.look(node).kind == Folder {
		return NotAllowed
	}
	if errno := d.room(int64(len(at.Name)), 0); errno != OK {
		return errno
	}
	d.insert(at, node)
	n := d.edit(node)
	n.links++
	n.changed = d.Clock
	return OK
}

// Unlink removes the name of a file, link or device.
func (d *Disk) Unlink(at Place) Errno {
	switch {
	case at.Node == None:
		return NoEntry
	case d.look(at.Node).kind == Folder:
		return IsFolder
	case at.Slash:
		return NotFolder
	}
	d.remove(at)
	n := d.edit(at.Node)
	n.links--
	n.changed = d.Clock
	d.drop(at.Node)
	return OK
}

// RemoveFolder removes an empty folder.
func (d *Disk) RemoveFolder(at Place) Errno {
	switch {
	case at.Node == None:
		return NoEntry
	case d.look(at.Node).kind != Folder:
		return NotFolder
	case at.Name == ".":
		return Invalid
	case at.Name == "..":
		return NotEmpty
	case at.Node == Root:
		return Busy
	case len(d.look(at.Node).entries) > 0:
		return NotEmpty
	}
	d.remove(at)
	d.edit(at.Node).links = 0
	d.drop(at.Node)
	return OK
}

// Rename moves a name, and replaces what is at the other place if POSIX allows it.
func (d *Disk) Rename(from, to Place) Errno {
	if errno := d.movable(from, to); errno != OK {
		return errno
	}
	if from.Node == to.Node {
		return OK
	}
	if errno := d.room(int64(max(len(to.Name)-len(from.Name), 0)), 0); errno != OK {
		return errno
	}
	if to.Node != None {
		remove := d.Unlink
		if d.look(to.Node).kind == Folder {
			remove = d.RemoveFolder
		}
		if errno := remove(to); errno != OK {
			return errno
		}
	}
	d.remove(from)
	d.insert(to, from.Node)
	d.edit(from.Node).changed = d.Clock
	return OK
}

// movable returns why a name cannot be moved.
func (d *Disk) movable(from, to Place) Errno {
	if !from.named() || !to.named() {
		return Busy
	}
	if from.Node == None {
		return NoEntry
	}
	folder := d.look(from.Node).kind == Folder
	switch {
	case !folder && (from.Slash || to.Slash):
		return NotFolder
	case folder && d.within(to.Folder, from.Node):
		return Invalid
	case to.Node != None && d.look(to.Node).kind == Folder && d.within(from.Folder, to.Node):
		return NotEmpty
	case folder && d.depth(to.Folder) >= d.limits.Depth:
		return TooMany
	case to.Node == None:
		return OK
	case d.look(to.Node).kind == Folder && !folder:
		return IsFolder
	case d.look(to.Node).kind != Folder && folder:
		return NotFolder
	}
	return OK
}
