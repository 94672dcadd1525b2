//go:build unix

package run

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/merit-rl/merit/core/fault"
)

// acquire takes the advisory lock of a run directory. The operating system
// releases it when the process ends, however it ends.
func acquire(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, storageError(path, "cannot be opened", err)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, &fault.Error{
			Boundary: fault.Storage, Kind: fault.Refused, Where: path,
			What: "another process is writing this run",
			Hint: "wait for it or stop it, or choose another directory with --out", Retry: true,
		}
	}
	return nil, storageError(path, "cannot be locked", err)
}
