//go:build unix

package run

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/merit-rl/merit/core/fault"
)

// acquire takes the advisory lock of a run directory, and reports whether it
// created the lock file. The operating system releases the lock whenever the
// process exits or dies.
func acquire(path string) (f *os.File, made bool, err error) {
	f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if made = err == nil; !made {
		f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	}
	if err != nil {
		return nil, false, storageError(path, "cannot be opened", err)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		if now, err := os.Stat(path); err != nil || !same(f, now) {
			f.Close()
			return acquire(path) // another process has removed the file that is locked
		}
		return f, made, nil
	}
	f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, false, &fault.Error{
			Boundary: fault.Storage, Kind: fault.Refused, Where: path,
			What: "another process is writing this run",
			Hint: "wait for it or stop it, or choose another directory with --out",
		}
	}
	return nil, false, storageError(path, "cannot be locked", err)
}

// Lock takes the advisory lock of any other folder that processes share, with the
// file at path, and returns a function that releases it. If another process holds
// the lock, the error has the kind Refused, and the given what and hint.
func Lock(path, what, hint string) (release func() error, err error) {
	f, _, err := acquire(path)
	if held := fault.As(err); held != nil && held.Kind == fault.Refused {
		held.What, held.Hint = what, hint
	}
	if err != nil {
		return nil, err
	}
	return f.Close, nil
}

func same(f *os.File, other os.FileInfo) bool {
	info, err := f.Stat()
	return err == nil && os.SameFile(info, other)
}
