package lane

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
)

// name is the file name of the socket.
const name = "lane"

// Offer is a socket on which a host waits for its plug-in.
type Offer struct {
	socket *net.UnixListener
	dir    string
}

// Listen makes an offer in dir, a folder that other users must not be able to
// enter. dir is removed with the offer, or when Listen fails.
func Listen(dir string) (*Offer, error) {
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, name), Net: "unix"})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &Offer{socket: socket, dir: dir}, nil
}

// Path returns the path that a plug-in passes to Dial.
func (o *Offer) Path() string { return o.socket.Addr().String() }

// Accept returns the lane of the plug-in. It waits until the plug-in connects
// or ctx is done.
func (o *Offer) Accept(ctx context.Context) (*Conn, error) {
	defer context.AfterFunc(ctx, func() { _ = o.socket.Close() })()
	socket, err := o.socket.AcceptUnix()
	switch {
	case ctx.Err() != nil && err != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, err
	}
	return newConn(socket)
}

// Close withdraws the offer.
func (o *Offer) Close() error { return errors.Join(o.socket.Close(), os.RemoveAll(o.dir)) }

// Dial accepts a host's offer.
func Dial(path string) (*Conn, error) {
	socket, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	return newConn(socket)
}

func newConn(socket *net.UnixConn) (*Conn, error) {
	s, err := block(socket)
	if err != nil {
		return nil, err
	}
	return &Conn{socket: s, in: make([]byte, 0, room)}, nil
}
