package engine

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/merit-rl/merit/core/fault"
)

// acquire holds a folder for this process: two servers that share a database would
// each do half of what is asked, and of two installations neither would be whole.
// The operating system releases it.
func acquire(folder string) (*os.File, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, unwritable(folder, err)
	}
	path := filepath.Join(folder, "lock")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, unwritable(path, err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		file.Close()
		f := &fault.Error{Boundary: fault.Storage, Kind: fault.Refused, Where: path, What: "cannot be locked", Err: err, Hint: "choose another folder"}
		if errors.Is(err, unix.EWOULDBLOCK) {
			f.What, f.Hint = "another process uses this folder", "wait for it, stop it, or choose another folder"
		}
		return nil, f
	}
	return file, nil
}
