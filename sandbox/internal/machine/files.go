package machine

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"github.com/merit-rl/merit/internal/base/box"
	"github.com/merit-rl/merit/sandbox/internal/engine/disk"
)

var (
	_ box.Restorer = (*Machine)(nil)
	_ box.Maker    = (*Userland)(nil)
)

// reasons are the errors of package fs and of the system for those of a disk.
var reasons = map[disk.Errno]error{
	disk.NoEntry: fs.ErrNotExist, disk.Exists: fs.ErrExist, disk.NoSpace: syscall.ENOSPC, disk.NotFolder: syscall.ENOTDIR, disk.IsFolder: syscall.EISDIR,
	disk.Loop: syscall.ELOOP, disk.NameTooLong: syscall.ENAMETOOLONG, disk.TooMany: syscall.EMLINK, disk.TooBig: syscall.EFBIG,
}

// failure is the error of an operation on a path; nil if it did not fail.
func failure(op, name string, errno disk.Errno) error {
	if errno == disk.OK {
		return nil
	}
	err := reasons[errno]
	if err == nil {
		err = fmt.Errorf("errno %d", errno)
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// Fork implements box.Box.
func (m *Machine) Fork(context.Context) (box.Box, error) { return m.fork(), nil }

// Close implements box.Box.
func (m *Machine) Close() error { return nil }

// Write implements box.Box. The error is a *fs.PathError.
func (m *Machine) Write(files ...box.File) error {
	for _, f := range files {
		if err := m.write(f); err != nil {
			return err
		}
	}
	return nil
}

func (m *Machine) write(f box.File) error {
	at, err := m.vacate(f)
	if err != nil || at.Node != disk.None {
		return err // what is there was kept: a folder
	}
	kind, target := disk.File, ""
	switch {
	case f.Mode.IsDir():
		kind = disk.Folder
	case f.Mode&fs.ModeSymlink != 0:
		kind, target = disk.Link, string(f.Data)
	}
	n, errno := m.disk.Make(at, kind, uint16(f.Mode.Perm()), target)
	if errno == disk.OK && kind == disk.File {
		errno = m.disk.Write(n, f.Data, 0)
	}
	return failure("write", f.Path, errno)
}

// vacate makes the folders that a file needs, and removes what is in its place. A folder that
// should be one stays.
func (m *Machine) vacate(f box.File) (disk.Place, error) {
	name := path.Clean("/" + f.Path)
	if err := m.folders(path.Dir(name)); err != nil {
		return disk.Place{}, err
	}
	at, errno := m.disk.Lookup(disk.Root, name, f.Mode.IsDir())
	if errno != disk.OK || at.Node == disk.None {
		return at, failure("write", f.Path, errno)
	}
	if f.Mode.IsDir() && m.disk.Stat(at.Node).Kind == disk.Folder {
		return at, nil
	}
	err := m.clear(at)
	at.Node = disk.None
	return at, err
}

// folders makes a folder and those around it.
func (m *Machine) folders(dir string) error {
	for k := 1; k <= len(dir); k++ {
		if k < len(dir) && dir[k] != '/' || dir == "/" {
			continue
		}
		at, errno := m.disk.Lookup(disk.Root, dir[:k], true)
		if errno == disk.OK && at.Node == disk.None {
			_, errno = m.disk.Make(at, disk.Folder, 0o755, "")
		}
		if errno != disk.OK {
			return failure("mkdir", dir[:k], errno)
		}
	}
	return nil
}

// Remove implements box.Box. The error is a *fs.PathError.
func (m *Machine) Remove(name string) error {
	at, errno := m.disk.Lookup(disk.Root, path.Clean("/"+name), false)
	switch {
	case errno == disk.NoEntry || errno == disk.NotFolder || errno == disk.OK && at.Node == disk.None:
		return nil
	case errno != disk.OK:
		return failure("remove", name, errno)
	}
	return m.clear(at)
}

// clear removes what is at a place: a folder with everything in it.
func (m *Machine) clear(at disk.Place) error {
	if m.disk.Stat(at.Node).Kind != disk.Folder {
		return failure("remove", at.Name, m.disk.Unlink(at))
	}
	for {
		e, ok := m.disk.Entry(at.Node, 2) // after "." and ".."
		if !ok {
			return failure("remove", at.Name, m.disk.RemoveFolder(at))
		}
		in, errno := m.disk.Lookup(at.Node, e.Name, false)
		if errno != disk.OK {
			return failure("remove", e.Name, errno)
		}
		if err := m.clear(in); err != nil {
			return err
		}
	}
}

// Files implements box.Box. The error is a *fs.PathError.
func (m *Machine) Files(name string) ([]box.File, error) {
	name = path.Clean("/" + name)
	at, errno := m.disk.Lookup(disk.Root, name, false)
	switch {
	case errno == disk.NoEntry || errno == disk.NotFolder || errno == disk.OK && at.Node == disk.None:
		return nil, nil
	case errno != disk.OK:
		return nil, failure("read", name, errno)
	}
	return m.collect(nil, name, at.Node), nil
}

// collect appends a node, and what is in it.
func (m *Machine) collect(files []box.File, name string, node uint32) []box.File {
	info := m.disk.Stat(node)
	f := box.File{Path: name, Mode: fs.FileMode(info.Mode).Perm()}
	switch info.Kind {
	case disk.Device:
		return files
	case disk.Link:
		f.Mode |= fs.ModeSymlink
		f.Data = append(f.Data, m.disk.Data(node)...)
	case disk.File:
		f.Data = append(f.Data, m.disk.Data(node)...)
	case disk.Folder:
		f.Mode |= fs.ModeDir
		files = append(files, f)
		for k := uint64(2); ; k++ {
			e, ok := m.disk.Entry(node, k)
			if !ok {
				return files
			}
			files = m.collect(files, strings.TrimSuffix(name, "/")+"/"+e.Name, disk.Node(e))
		}
	}
	return append(files, f)
}

// Changes implements box.Restorer. The other box is a machine.
func (m *Machine) Changes(from box.Box) (all []box.Change) {
	m.disk.Compare(from.(*Machine).disk, func(name string, was, is bool) {
		all = append(all, box.Change{Path: name, Was: was, Is: is})
	})
	return all
}

// Restore implements box.Restorer. The other box is a machine. The error is a *fs.PathError.
func (m *Machine) Restore(from box.Box, paths ...string) error {
	for _, name := range paths {
		if err := m.restore(from.(*Machine).disk, path.Clean("/"+name)); err != nil {
			return err
		}
	}
	return nil
}

func (m *Machine) restore(d *disk.Disk, name string) error {
	was, errno := d.Lookup(disk.Root, name, false)
	if errno != disk.OK || was.Node == disk.None {
		return m.Remove(name)
	}
	info := d.Stat(was.Node)
	if err := m.folders(path.Dir(name)); err != nil {
		return err
	}
	at, errno := m.disk.Lookup(disk.Root, name, false)
	if errno == disk.OK && at.Node != disk.None {
		if info.Kind == disk.Folder && m.disk.Stat(at.Node).Kind == disk.Folder {
			m.disk.Chmod(at.Node, info.Mode)
			return nil
		}
		if err := m.clear(at); err != nil {
			return err
		}
		at.Node = disk.None
	}
	if errno == disk.OK {
		errno = m.disk.Copy(at, d, was.Node)
	}
	return failure("restore", name, errno)
}
