//go:build unix

package natsd

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/merit-rl/merit/core/fault"
)

// lock keeps other servers out of a folder, because two servers would damage the streams. The
// lock lasts until the file is closed or the process exits for any reason.
func lock(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "merit.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, &fault.Error{Boundary: fault.Fleet, Kind: fault.Refused, Where: dir, What: "another server uses this folder for its streams", Hint: "use another folder, or stop the other server"}
		}
		return nil, err
	}
	return f, nil
}
