package serving

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Promise: no more connections are open than the operator allows; the next one
// waits for one that ends.
func TestConnections(t *testing.T) {
	l, err := listen("127.0.0.1:0", 2)
	require.NoError(t, err)
	defer l.Close()
	accepted := make(chan net.Conn)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- c
		}
	}()
	var served []net.Conn
	for n := range 3 {
		c, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		defer c.Close()
		if n < 2 {
			served = append(served, <-accepted)
		}
	}
	select {
	case <-accepted:
		require.Fail(t, "a third connection is served beside two")
	case <-time.After(50 * time.Millisecond):
	}
	require.NoError(t, served[0].Close())
	third := <-accepted
	_, err = io.WriteString(third, "x")
	require.NoError(t, err)
}
