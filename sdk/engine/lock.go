package engine

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/merit-rl/merit/core/fault"
)

// acquire holds the data of a server for this process: two engines that share a
// database would each do half of what is asked. The operating system releases it.
func acquire(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, unwritable(path, err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		file.Close()
		f := &fault.Error{Boundary: fault.Storage, Kind: fault.Refused, Where: path, What: "cannot be locked", Err: err, Hint: "choose another folder for the data"}
		if errors.Is(err, unix.EWOULDBLOCK) {
			f.What, f.Hint = "another server uses this folder", "stop it, or choose another folder for the data"
		}
		return nil, f
	}
	return file, nil
}
