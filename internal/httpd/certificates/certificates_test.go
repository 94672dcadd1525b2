package certificates_test

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/httpd"
	"github.com/merit-rl/merit/internal/httpd/certificates"
	"github.com/merit-rl/merit/internal/httpd/certtest"
)

// serve answers "hello" with the certificates of files.
func serve(t *testing.T, files certificates.Files) (url string) {
	t.Helper()
	c, err := certificates.Open(files)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := httpd.New(l, httpd.Config{TLS: c.Config(), Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })})
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(t.Context()) }()
	t.Cleanup(func() {
		require.NoError(t, <-ended)
		require.NoError(t, s.Close())
	})
	return s.URL()
}

// get sends a request over a new connection.
func get(t *testing.T, url, trusted string) error {
	t.Helper()
	client := certtest.Client(t, trusted)
	defer client.CloseIdleConnections()
	r, err := client.Get(url)
	if err == nil {
		err = r.Body.Close()
	}
	return err
}

// later gives files another modification time, as if written later.
func later(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		info, err := os.Stat(path)
		require.NoError(t, err)
		at := info.ModTime().Add(time.Minute)
		require.NoError(t, os.Chtimes(path, at, at))
	}
}

// Promise: a key that every user of the machine can read is refused with what to do, and the
// connections of a running server keep the previous key.
func TestKeysAreSecret(t *testing.T) {
	cert, key := certtest.Write(t, t.TempDir())
	url := serve(t, certificates.Files{Cert: cert, Key: key})
	for mode, refused := range map[os.FileMode]bool{0o600: false, 0o400: false, 0o640: false, 0o644: true, 0o604: true, 0o666: true} {
		require.NoError(t, os.Chmod(key, mode))
		_, err := certificates.Open(certificates.Files{Cert: cert, Key: key})
		if !refused {
			require.NoError(t, err, mode)
			continue
		}
		require.ErrorIs(t, err, fault.Of(fault.Config, fault.Refused), mode)
		require.Contains(t, fault.As(err).Hint, "chmod 600 "+key)
		later(t, key)
		require.NoError(t, get(t, url, cert))
	}
}

// Promise: the next connection gets a renewed certificate, and while it is only partly written,
// connections get the previous one.
func TestRenewed(t *testing.T) {
	dir, old := t.TempDir(), t.TempDir()
	cert, key := certtest.Write(t, dir)
	url := serve(t, certificates.Files{Cert: cert, Key: key})
	before := filepath.Join(old, "before.pem")
	text, err := os.ReadFile(cert)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(before, text, 0o600))
	require.NoError(t, get(t, url, before))

	secret, err := os.ReadFile(key)
	require.NoError(t, err)
	certtest.Write(t, dir)
	renewed, err := os.ReadFile(key)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(key, secret, 0o600)) // of the old certificate
	later(t, cert)
	require.NoError(t, get(t, url, before))
	require.Error(t, get(t, url, cert))

	require.NoError(t, os.WriteFile(key, renewed, 0o600))
	later(t, key, key)
	require.NoError(t, get(t, url, cert))
	require.Error(t, get(t, url, before))
}

// Promise: without files a server uses plain HTTP. With a root for clients it refuses clients
// without a certificate. Invalid files are reported at the start.
func TestFiles(t *testing.T) {
	c, err := certificates.Open(certificates.Files{})
	require.NoError(t, err)
	require.Nil(t, c)
	require.Nil(t, c.Config())
	require.NoError(t, c.Reload())
	r, err := http.Get(serve(t, certificates.Files{}))
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())

	cert, key := certtest.Write(t, t.TempDir())
	require.Error(t, get(t, serve(t, certificates.Files{Cert: cert, Key: key, ClientCA: cert}), cert))
	for _, files := range []certificates.Files{{Cert: key, Key: cert}, {Cert: cert, Key: key + "x"}, {Cert: cert, Key: key, ClientCA: key}} {
		_, err := certificates.Open(files)
		require.ErrorIs(t, err, fault.Of(fault.Config, fault.Invalid))
	}
	require.Len(t, certificates.Files{Key: "k", ClientCA: "c"}.Problems("tls"), 2)
}
