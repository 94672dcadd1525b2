package httpd

import "golang.org/x/sys/unix"

// hungUp reports whether a socket's other side is closed in both directions. BSDs
// may say so of one that is half closed, too: its client then gets no answer.
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
