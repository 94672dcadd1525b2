//go:build unix

package library

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/merit-rl/merit/core/fault"
)

// lock keeps other servers out of a folder, until the process ends, however it
// ends.
func lock(file string) (*os.File, error) {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, &fault.Error{
			Boundary: fault.Storage, Kind: fault.Refused, Where: file, What: "another server keeps its rewards in this folder",
			Hint: "stop it, or give this one a folder of its own",
		}
	}
	return nil, err
}
