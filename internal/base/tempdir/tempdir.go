//go:build unix

// Package tempdir makes folders for what a process needs while it lives. A process
// that is killed leaves its folder behind, and nobody but the next one can remove
// it: a folder is locked by its process, the system lets go of the lock when the
// process ends, however it ends, and whoever makes a folder removes those that
// nobody holds.
package tempdir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/merit-rl/merit/core/fault"
)

// The names of these folders. What has another name is nobody's to remove: earlier
// versions have made some that they do not lock.
const (
	prefix = "merit-"
	suffix = ".tmp"
)

// Dir is a folder of this process.
type Dir struct {
	Path string
	lock *os.File
}

// New makes a folder in the system's temporary folder, named after what it is for,
// and removes there what processes of this user have left that are dead.
func New(what string) (*Dir, error) {
	base, err := filepath.Abs(os.TempDir())
	if err != nil {
		return nil, stored(os.TempDir(), err)
	}
	sweep(base)
	for range 16 { // another process may sweep before it is locked
		path, err := os.MkdirTemp(base, prefix+what+"-*"+suffix)
		if err != nil {
			return nil, stored(base, err)
		}
		f, err := hold(path)
		if f != nil {
			return &Dir{Path: path, lock: f}, nil
		}
		if err != nil { // the disk knows no locks: nobody sweeps there, either
			return &Dir{Path: path}, nil
		}
	}
	return nil, stored(base, errors.New("other processes remove it as soon as it exists"))
}

// Close removes the folder and all that is in it. It may be called again.
func (d *Dir) Close() error {
	err := os.RemoveAll(d.Path)
	if d.lock != nil {
		d.lock.Close() // only locked
		d.lock = nil
	}
	return err
}

// hold returns the folder, locked; nil if another process has it, or has removed
// it. The error is that of a disk which cannot lock.
func hold(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, nil // it is gone, or no folder of ours
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close() // only opened
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, nil
		}
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		var there os.FileInfo
		if there, err = os.Lstat(path); err == nil && os.SameFile(info, there) {
			return f, nil
		}
	}
	f.Close() // only opened
	return nil, nil
}

// sweep removes the folders of processes that are dead. What cannot be removed is
// left to the next who tries.
func sweep(base string) {
	entries, _ := os.ReadDir(base) // what was read before an error counts
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), prefix) || !strings.HasSuffix(e.Name(), suffix) {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue // gone
		}
		if owner, ok := info.Sys().(*syscall.Stat_t); !ok || int(owner.Uid) != os.Getuid() {
			continue
		}
		if f, _ := hold(filepath.Join(base, e.Name())); f != nil {
			_ = os.RemoveAll(f.Name())
			f.Close() // only locked
		}
	}
}

func stored(path string, err error) error {
	return &fault.Error{Boundary: fault.Storage, Kind: fault.Exhausted, Where: path, What: "cannot create a temporary folder", Err: err, Hint: "free space there, or set TMPDIR to another folder"}
}
