// Package netcause finds what was wrong in an error of a network call.
package netcause

import (
	"errors"
	"net"
	"net/url"
	"os"
)

// Of returns what was wrong, without the URLs and addresses that the standard library adds: its caller names the
// server itself, and a URL may contain a key. It returns an error of another kind, and nil, unchanged.
func Of(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	var system *os.SyscallError
	if errors.As(err, &system) {
		err = system.Err
	}
	return err
}
