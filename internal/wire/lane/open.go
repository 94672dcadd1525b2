package lane

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
)

// name is that of the socket within its folder.
const name = "lane"

// Offer is a socket at which a host waits for its plug-in.
type Offer struct {
	socket *net.UnixListener
	dir    string
}

// Listen makes an offer within dir, a folder that nobody else may enter. It is
// removed with the offer, or if there is none.
func Listen(dir string) (*Offer, error) {
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, name), Net: "unix"})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &Offer{socket: socket, dir: dir}, nil
}

// Path is what a plug-in gives to Dial.
func (o *Offer) Path() string { return o.socket.Addr().String() }

// Accept returns the lane of a plug-in that says that it has taken the offer,
// and waits for one that has not until ctx is done.
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

// Dial takes a host's offer.
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
