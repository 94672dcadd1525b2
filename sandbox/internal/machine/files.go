package machine

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	wire "github.com/merit-rl/merit/internal/wire/machine"
	"github.com/merit-rl/merit/sandbox/internal/engine/disk"
)

var (
	_ wire.Machine  = (*Machine)(nil)
	_ wire.Machines = (*Userland)(nil)
)

// reasons are the errors of package fs and of the system for those of a disk.
var reasons = map[disk.Errno]error{
	disk.NoEntry: fs.ErrNotExist, disk.Exists: fs.ErrExist, disk.NoSpace: syscall.ENOSPC, disk.NotFolder: syscall.ENOTDIR, disk.IsFolder: syscall.EISDIR,
	disk.Loop: syscall.ELOOP, disk.NameTooLong: syscall.ENAMETOOLONG, disk.TooMany: syscall.EMLINK, disk.TooBig: syscall.EFBIG,
}

func failure(op, path string, errno disk.Errno) error {
	err := reasons[errno]
	if err == nil {
		err = fs.ErrInvalid
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}

// find returns the node that a path leads to.
func (m *Machine) find(op, name string) (uint32, error) {
	at, errno := m.disk.Lookup(disk.Root, path.Clean("/"+name), true)
	if errno == disk.OK && at.Node == disk.None {
		errno = disk.NoEntry
	}
	if errno != disk.OK {
		return disk.None, failure(op, name, errno)
	}
	return at.Node, nil
}

// Read implements wire.Machine.
func (m *Machine) Read(name string) ([]byte, error) {
	n, err := m.find("read", name)
	if err != nil {
		return nil, err
	}
	if m.disk.Stat(n).Kind != disk.File {
		return nil, failure("read", name, disk.IsFolder)
	}
	return m.disk.Data(n), nil
}

// Write implements wire.Machine.
func (m *Machine) Write(name string, data []byte, mode fs.FileMode) error {
	name = path.Clean("/" + name)
	if errno := m.folders(path.Dir(name)); errno != disk.OK {
		return failure("mkdir", path.Dir(name), errno)
	}
	at, errno := m.disk.Lookup(disk.Root, name, true)
	n := at.Node
	if errno == disk.OK && n == disk.None {
		n, errno = m.disk.Make(at, disk.File, 0, "")
	}
	if errno == disk.OK && m.disk.Stat(n).Kind != disk.File {
		errno = disk.IsFolder
	}
	if errno == disk.OK {
		errno = m.disk.Truncate(n, 0)
	}
	if errno == disk.OK {
		errno = m.disk.Write(n, data, 0)
	}
	if errno != disk.OK {
		return failure("write", name, errno)
	}
	m.disk.Chmod(n, uint16(mode.Perm()))
	return nil
}

// folders makes the folders of a path that do not exist.
func (m *Machine) folders(name string) disk.Errno {
	for k := 1; k <= len(name); k++ {
		if k < len(name) && name[k] != '/' || name == "/" {
			continue
		}
		at, errno := m.disk.Lookup(disk.Root, name[:k], true)
		if errno == disk.OK && at.Node == disk.None {
			_, errno = m.disk.Make(at, disk.Folder, 0o755, "")
		}
		if errno != disk.OK {
			return errno
		}
	}
	return disk.OK
}

// List implements wire.Machine.
func (m *Machine) List(folder string, each func(path string, mode fs.FileMode, size int64) bool) error {
	n, err := m.find("list", folder)
	if err == nil && m.disk.Stat(n).Kind != disk.Folder {
		err = failure("list", folder, disk.NotFolder)
	}
	if err == nil {
		m.list(n, path.Clean("/"+folder), each)
	}
	return err
}

func (m *Machine) list(folder uint32, name string, each func(path string, mode fs.FileMode, size int64) bool) bool {
	for k := uint64(2); ; k++ { // after "." and ".."
		e, ok := m.disk.Entry(folder, k)
		if !ok {
			return true
		}
		n, at := disk.Node(e), path.Join(name, e.Name)
		i := m.disk.Stat(n)
		if i.Kind == disk.Folder && !m.list(n, at, each) || i.Kind == disk.File && !each(at, fs.FileMode(i.Mode).Perm(), int64(i.Size)) {
			return false
		}
	}
}

// Commands implements wire.Machines.
func (u *Userland) Commands() []string {
	names := slices.Clone(u.names)
	for _, at := range programs {
		names = append(names, path.Base(at))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Packages implements wire.Machines.
func (u *Userland) Packages() map[string]string {
	found := map[string]string{}
	for _, e := range u.python.includes {
		found[e.Name] = e.Version
	}
	for name := range u.python.packages {
		dist, ok := strings.CutSuffix(name, ".dist-info/METADATA")
		if !ok {
			continue
		}
		if k := strings.LastIndexByte(dist, '-'); k > 0 {
			found[normal(dist[:k])] = dist[k+1:]
		}
	}
	return found
}

// normal returns the name of a package as registries compare names.
func normal(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "-", ".", "-").Replace(name))
}
