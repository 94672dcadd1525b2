package netcause

import (
	"errors"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// Promise: of a call that reaches nobody, neither the URL nor the address remains; other errors stay.
func TestOf(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	_, err = http.Get("http://" + l.Addr().String() + "/?key=secret")
	require.ErrorContains(t, err, "key=secret")
	require.EqualError(t, Of(err), "connection refused")
	other := errors.New("other")
	require.Equal(t, other, Of(other))
	require.NoError(t, Of(nil))
}
