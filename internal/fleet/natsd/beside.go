package natsd

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// Door is a way in for processes of this machine that is not the server's port: no
// TLS, and no name that stands in a certificate. Keys count as they do at the port.
type Door struct {
	listener net.Listener
	stop     context.CancelFunc
	ends     sync.WaitGroup
}

// Beside opens a door, which is closed before the server is.
func (s *Server) Beside() (*Door, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	d := &Door{listener: l, stop: stop}
	d.ends.Go(func() {
		for {
			c, err := l.Accept()
			switch {
			case errors.Is(err, net.ErrClosed):
				return
			case err != nil: // such as too many open files
				time.Sleep(100 * time.Millisecond)
			default:
				d.ends.Go(func() { s.pass(ctx, c) })
			}
		}
	})
	return d, nil
}

// URL is where the door is.
func (d *Door) URL() string { return "nats://" + d.listener.Addr().String() }

// Close shuts the door, and ends the connections of those who came by it.
func (d *Door) Close() error {
	d.stop()
	err := d.listener.Close()
	d.ends.Wait()
	return err
}

// pass carries what one end says to the other until one of both hangs up, or ctx is
// over. A server that is away hangs up at once.
func (s *Server) pass(ctx context.Context, c net.Conn) {
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	defer c.Close()
	inside, err := s.InProcessConn()
	if err != nil {
		return
	}
	var there sync.WaitGroup
	there.Go(func() {
		_, _ = io.Copy(inside, c) // an end that hangs up is the end
		_ = inside.Close()
	})
	_, _ = io.Copy(c, inside)
	_ = c.Close()
	there.Wait()
}
