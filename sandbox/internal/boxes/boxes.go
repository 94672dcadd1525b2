// Package boxes makes the machines of the sandbox boxes: it lays files on their disks, reads
// them, and runs commands.
package boxes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/merit-rl/merit/internal/base/box"
	wire "github.com/merit-rl/merit/internal/wire/machine"
	"github.com/merit-rl/merit/sandbox/internal/engine/disk"
	"github.com/merit-rl/merit/sandbox/internal/machine"
)

// Maker makes boxes of machines, which it frees.
type Maker struct{ wire.Machines }

// New implements box.Maker.
func (m Maker) New(context.Context) (box.Box, error) {
	return &machineBox{m.Machines.New().(*machine.Machine)}, nil
}

// machineBox is a machine as a box.
type machineBox struct{ machine *machine.Machine }

// Run implements box.Box. The user is root, whatever the command says: a machine has no other.
func (b *machineBox) Run(ctx context.Context, c box.Command) box.Result {
	r := b.machine.Run(ctx, wire.Command{Args: c.Args, Env: c.Env, Dir: c.Dir})
	out := box.Result{Status: r.Status, Output: r.Output, Errors: r.Errors, Fuel: r.Fuel}
	if r.Outcome != wire.Exited {
		out.Err = errors.New(cmp.Or(r.Reason, string(r.Outcome)))
	}
	return out
}

// Fork implements box.Box.
func (b *machineBox) Fork(context.Context) (box.Box, error) {
	return &machineBox{b.machine.Fork().(*machine.Machine)}, nil
}

// Close implements box.Box.
func (b *machineBox) Close() error { return nil }

// Write implements box.Box.
func (b *machineBox) Write(files ...box.File) error {
	for _, f := range files {
		if err := b.write(f); err != nil {
			return err
		}
	}
	return nil
}

func (b *machineBox) write(f box.File) error {
	at, err := b.vacate(f)
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
	d := b.machine.Disk()
	n, errno := d.Make(at, kind, uint16(f.Mode.Perm()), target)
	if errno == disk.OK && kind == disk.File {
		errno = d.Write(n, f.Data, 0)
	}
	return failed(f.Path, errno)
}

// vacate makes the folders that a file needs, and removes what is in its place. A folder that
// should be one stays.
func (b *machineBox) vacate(f box.File) (disk.Place, error) {
	d := b.machine.Disk()
	if err := b.folders(path.Dir(path.Clean(f.Path))); err != nil {
		return disk.Place{}, err
	}
	at, errno := d.Lookup(disk.Root, path.Clean(f.Path), f.Mode.IsDir())
	if errno != disk.OK || at.Node == disk.None {
		return at, failed(f.Path, errno)
	}
	if d.Stat(at.Node).Kind == disk.Folder {
		if f.Mode.IsDir() {
			return at, nil
		}
		if err := b.removeFolder(at); err != nil {
			return at, err
		}
	} else if errno := d.Unlink(at); errno != disk.OK {
		return at, failed(f.Path, errno)
	}
	at.Node = disk.None
	return at, nil
}

// folders makes a folder and those around it.
func (b *machineBox) folders(dir string) error {
	d := b.machine.Disk()
	for k := 1; k <= len(dir); k++ {
		if k < len(dir) && dir[k] != '/' || dir == "/" {
			continue
		}
		at, errno := d.Lookup(disk.Root, dir[:k], true)
		if errno == disk.OK && at.Node == disk.None {
			_, errno = d.Make(at, disk.Folder, 0o755, "")
		}
		if errno != disk.OK {
			return failed(dir[:k], errno)
		}
	}
	return nil
}

// Remove implements box.Box.
func (b *machineBox) Remove(name string) error {
	d := b.machine.Disk()
	at, errno := d.Lookup(disk.Root, path.Clean(name), false)
	switch {
	case errno == disk.NoEntry || errno == disk.OK && at.Node == disk.None:
		return nil
	case errno != disk.OK:
		return failed(name, errno)
	case d.Stat(at.Node).Kind == disk.Folder:
		return b.removeFolder(at)
	}
	return failed(name, d.Unlink(at))
}

// removeFolder removes a folder with everything in it.
func (b *machineBox) removeFolder(at disk.Place) error {
	d := b.machine.Disk()
	for {
		e, ok := d.Entry(at.Node, 2)
		if !ok {
			return failed(at.Name, d.RemoveFolder(at))
		}
		in, errno := d.Lookup(at.Node, e.Name, false)
		if errno != disk.OK {
			return failed(e.Name, errno)
		}
		if e.Kind == disk.Folder {
			if err := b.removeFolder(in); err != nil {
				return err
			}
		} else if errno := d.Unlink(in); errno != disk.OK {
			return failed(e.Name, errno)
		}
	}
}

// Files implements box.Box.
func (b *machineBox) Files(name string) (files []box.File, err error) {
	d := b.machine.Disk()
	name = path.Clean(name)
	at, errno := d.Lookup(disk.Root, name, false)
	switch {
	case errno == disk.NoEntry || errno == disk.NotFolder || errno == disk.OK && at.Node == disk.None:
		return nil, nil
	case errno != disk.OK:
		return nil, failed(name, errno)
	}
	return b.collect(nil, name, at.Node), nil
}

// collect appends a node, and what is in it.
func (b *machineBox) collect(files []box.File, name string, node uint32) []box.File {
	d := b.machine.Disk()
	info := d.Stat(node)
	f := box.File{Path: name, Mode: fs.FileMode(info.Mode).Perm()}
	switch info.Kind {
	case disk.Device:
		return files
	case disk.Link:
		f.Mode |= fs.ModeSymlink
		f.Data = append(f.Data, d.Data(node)...)
	case disk.File:
		f.Data = append(f.Data, d.Data(node)...)
	case disk.Folder:
		f.Mode |= fs.ModeDir
		files = append(files, f)
		for k := uint64(2); ; k++ {
			e, ok := d.Entry(node, k)
			if !ok {
				return files
			}
			in, _ := d.Lookup(node, e.Name, false) // it was just listed
			files = b.collect(files, strings.TrimSuffix(name, "/")+"/"+e.Name, in.Node)
		}
	}
	return append(files, f)
}

// failed is the error of an operation on a path; nil if it did not fail.
func failed(name string, errno disk.Errno) error {
	var why error
	switch errno {
	case disk.OK:
		return nil
	case disk.NoSpace, disk.TooBig:
		why = errors.New("the disk of the machine is full")
	case disk.Loop:
		why = errors.New("too many symbolic links")
	case disk.NotFolder:
		why = errors.New("a part of the path is not a folder")
	default:
		why = fmt.Errorf("errno %d", errno)
	}
	return &fs.PathError{Op: "write", Path: name, Err: why}
}
