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

// listen opens a listener on an address.
func listen(address string) (net.Listener, error) {
	if socket, ok := strings.CutPrefix(address, "unix:"); ok {
		return listenUnix(socket)
	}
	return httpd.Listen(address, "listen")
}

// listenUnix creates a socket that only this user can open. It replaces a socket that a killed
// server left behind, and nothing else.
func listenUnix(path string) (net.Listener, error) {
	if err := removeStale(path); err != nil {
		return nil, err
	}
	// The umask closes the window in which others could open the socket.
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
		return &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: path, What: "exists and is not a socket", Hint: "remove it, or choose another path"}
	}
	other, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		other.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return &fault.Error{Boundary: fault.Config, Kind: fault.Refused, Where: path, What: "another server listens on this socket", Hint: "stop it, or choose another path"}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return httpd.NotListening(path, "listen", err)
	}
	return nil
}
