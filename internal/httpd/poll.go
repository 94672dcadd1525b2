package httpd

import "golang.org/x/sys/unix"

// hungUp reports whether the other side of a socket is closed in both directions. BSDs may
// report this for a half-closed socket, too; its client then gets no response.
func hungUp(fd int) bool {
	for {
		at := []unix.PollFd{{Fd: int32(fd)}}
		_, err := unix.Poll(at, 0)
		if err == unix.EINTR {
			continue
		}
		return err != nil || at[0].Revents&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0
	}
}
