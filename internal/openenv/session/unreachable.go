package session

import (
	"errors"
	"syscall"
)

// unreachable reports whether no server listens, or the server is overloaded.
func unreachable(err error) bool {
	for _, known := range []error{syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE, syscall.EADDRNOTAVAIL} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}
