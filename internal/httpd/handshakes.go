package httpd

import (
	"crypto/tls"
	"net/http"
)

// limitHandshakes has the TLS handshakes of s compute on half of the processors at
// most: thousands of new connections leave the others to requests. Whoever opens a
// connection and says nothing takes no place: a handshake computes from the
// client's first message, which is read then, to the server's answer.
func limitHandshakes(s *http.Server) {
	inner := s.TLSConfig.GetConfigForClient
	s.TLSConfig.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if c, ok := hello.Conn.(*conn); ok {
			c.compute()
		}
		if inner == nil {
			return nil, nil // the server's own
		}
		return inner(hello)
	}
}

// compute waits until the handshake of c may compute.
func (c *conn) compute() {
	c.door.handshakes <- struct{}{}
	c.computing.Store(true)
}

// rest lets another handshake compute.
func (c *conn) rest() {
	if c.computing.CompareAndSwap(true, false) {
		<-c.door.handshakes
	}
}

// Write ends the computing of a handshake and writes.
func (c *conn) Write(p []byte) (int, error) {
	c.rest()
	return c.Conn.Write(p)
}
