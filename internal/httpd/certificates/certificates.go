// Package certificates is TLS for Merit's servers: PEM files that are read when
// a server starts, and again when they are renewed.
package certificates

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/httpd"
)

// Files names certificates, as PEM files. Renewed ones are read at the next
// connection, or at a reload.
type Files struct {
	// Cert is the server's certificate, and those between it and its root.
	Cert string `yaml:"cert" json:"cert"`
	// Key is the private key of Cert.
	Key string `yaml:"key" json:"key"`
	// ClientCA, if set, has the roots that a client's certificate must lead to.
	ClientCA string `yaml:"client_ca" json:"client_ca"`
}

// Problems returns every problem of f, which is the section key.
func (f Files) Problems(key string) fault.Problems {
	var p fault.Problems
	if (f.Cert == "") != (f.Key == "") {
		p.Missing(key, "a certificate needs its key, and a key its certificate", "give both")
	}
	if f.ClientCA != "" && f.Cert == "" {
		p.Missing(key+".client_ca", "clients' certificates need TLS", "give a certificate and its key, too")
	}
	return p
}

// Paths are those of f, to be replaced.
func (f *Files) Paths() []*string { return []*string{&f.Cert, &f.Key, &f.ClientCA} }

// Certificates are those of a server. They can be read again while it runs:
// connections that stand go on with what they have. Nil is a server without TLS.
type Certificates struct {
	files   Files
	current atomic.Pointer[tls.Config]

	mu    sync.Mutex
	dates [3]time.Time // of the files when they were last looked at
}

// Open reads the files, or returns nil if there are none.
func Open(files Files) (*Certificates, error) {
	if files.Cert == "" {
		return nil, nil
	}
	c := &Certificates{files: files}
	c.dates = c.look()
	return c, c.Reload()
}

// look returns when the files were last written.
func (c *Certificates) look() (dates [3]time.Time) {
	for i, path := range c.files.Paths() {
		if info, err := os.Stat(*path); err == nil {
			dates[i] = info.ModTime()
		}
	}
	return dates
}

// latest is what a new connection gets: the files as they are, or, while a
// renewal is half written, as they were.
func (c *Certificates) latest() *tls.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	if dates := c.look(); dates != c.dates && c.Reload() == nil {
		c.dates = dates
	}
	return c.current.Load()
}

// Reload reads the files again: all or nothing.
func (c *Certificates) Reload() error {
	if c == nil {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(c.files.Cert, c.files.Key)
	if err != nil {
		return &fault.Error{
			Boundary: fault.Config, Kind: fault.Invalid, Where: c.files.Cert + ", " + c.files.Key, What: "is no certificate with its key", Err: err,
			Hint: "both are PEM files; the certificate comes first in its file, then those between it and its root",
		}
	}
	if err := httpd.Private(c.files.Key); err != nil {
		return err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"}}
	if c.files.ClientCA != "" {
		text, err := os.ReadFile(c.files.ClientCA)
		config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		if err != nil || !config.ClientCAs.AppendCertsFromPEM(text) {
			return &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: c.files.ClientCA, What: "holds no certificate", Err: err, Hint: "name a PEM file with the roots of clients' certificates"}
		}
	}
	c.current.Store(config)
	return nil
}

// Config is what a listener uses: what is current at each handshake; nil
// without TLS.
func (c *Certificates) Config() *tls.Config {
	if c == nil {
		return nil
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.latest(), nil },
	}
}

// Listener is l with TLS for what is no HTTP server, or l itself without.
func (c *Certificates) Listener(l net.Listener) net.Listener {
	if c == nil {
		return l
	}
	return tls.NewListener(l, c.Config())
}
