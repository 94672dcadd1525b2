//go:build unix

package lane

import (
	"errors"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// blocking is a socket whose reads block a thread of the operating system. Go's
// poller, which would free the thread, costs more than a batch does: three
// system calls and a second wake-up each.
type blocking struct{ *os.File }

// block makes a blocking socket from c, and closes c.
func block(c *net.UnixConn) (io.ReadWriteCloser, error) {
	defer c.Close()
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	var fd int
	outside := raw.Control(func(own uintptr) {
		if fd, err = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0); err == nil {
			err = unix.SetNonblock(fd, false)
		}
	})
	if err := errors.Join(outside, err); err != nil {
		return nil, err
	}
	return blocking{os.NewFile(uintptr(fd), name)}, nil
}

// Close wakes readers at both ends and closes the socket.
func (b blocking) Close() error {
	raw, err := b.SyscallConn()
	if err != nil {
		return err
	}
	err = raw.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_RDWR) })
	return errors.Join(err, b.File.Close())
}
