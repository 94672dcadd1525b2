package session

import (
	"errors"
	"syscall"
)

// unreachable reports whether nobody listens, or who does has too much to do.
func unreachable(err error) bool {
	for _, known := range []error{syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE, syscall.EADDRNOTAVAIL} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}
