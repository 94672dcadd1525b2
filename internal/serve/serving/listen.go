package serving

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/httpd"
)

// listen opens an address.
func listen(address string) (net.Listener, error) {
	if socket, ok := strings.CutPrefix(address, "unix:"); ok {
		return listenUnix(socket)
	}
	return httpd.Listen(address, "listen")
}

// listenUnix makes a socket that only this user may open. One that a killed
// server has left behind is replaced; anything else at its place is not.
func listenUnix(path string) (net.Listener, error) {
	if err := removeStale(path); err != nil {
		return nil, err
	}
	// There is no moment in which others could open it.
	before := syscall.Umask(0o177)
	l, err := net.Listen("unix", path)
	syscall.Umask(before)
	if err != nil {
		return nil, httpd.NotListening(path, "listen", err)
	}
	return l, nil
}

func removeStale(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return httpd.NotListening(path, "listen", err)
	case info.Mode().Type() != fs.ModeSocket:
		return &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: path, What: "is there and no socket", Hint: "remove it, or choose another path"}
	}
	other, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		other.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return &fault.Error{Boundary: fault.Config, Kind: fault.Refused, Where: path, What: "another server listens there", Hint: "stop it, or choose another path"}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return httpd.NotListening(path, "listen", err)
	}
	return nil
}
