package natsd

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// Door is a way in for processes of this machine that is not the server's port: no
// TLS, and no name that stands in a certificate. Keys count as they do at the port.
type Door struct {
	s        *Server
	listener net.Listener
	ends     sync.WaitGroup

	mutex  sync.Mutex // of what follows
	open   map[net.Conn]bool
	closed bool
}

// Beside opens a door, which is closed before the server is.
func (s *Server) Beside() (*Door, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d := &Door{s: s, listener: l, open: map[net.Conn]bool{}}
	d.ends.Go(d.accept)
	return d, nil
}

// URL is where the door is.
func (d *Door) URL() string { return "nats://" + d.listener.Addr().String() }

// Close shuts the door, and ends the connections of those who came by it.
func (d *Door) Close() error {
	d.mutex.Lock()
	d.closed = true
	for c := range d.open {
		_ = c.Close() // both ends of it see that
	}
	d.mutex.Unlock()
	err := d.listener.Close()
	d.ends.Wait()
	return err
}

func (d *Door) accept() {
	for {
		c, err := d.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // such as too many open files
			time.Sleep(100 * time.Millisecond)
			continue
		}
		if d.keep(c) {
			d.ends.Go(func() { d.pass(c) })
		}
	}
}

// keep remembers a connection, unless the door is closed.
func (d *Door) keep(c net.Conn) bool {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.closed {
		_ = c.Close()
		return false
	}
	d.open[c] = true
	return true
}

// pass carries what one end says to the other until one of both hangs up. A server
// that is away hangs up at once.
func (d *Door) pass(c net.Conn) {
	defer func() {
		_ = c.Close()
		d.mutex.Lock()
		defer d.mutex.Unlock()
		delete(d.open, c)
	}()
	inside, err := d.s.InProcessConn()
	if err != nil {
		return
	}
	defer inside.Close()
	over := make(chan struct{}, 2)
	carry := func(to, from net.Conn) {
		_, _ = io.Copy(to, from) // an end that hangs up is the end
		over <- struct{}{}
	}
	go carry(inside, c)
	go carry(c, inside)
	<-over
	_, _ = c.Close(), inside.Close()
	<-over
}
