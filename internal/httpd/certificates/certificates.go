// Package certificates provides TLS for Merit's servers. It reads PEM files when a server
// starts, and again when they are renewed.
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

// Files names PEM files. Renewed files are read at the next connection or at a reload.
type Files struct {
	// Cert is the file with the server's certificate, followed by intermediate certificates.
	Cert string `yaml:"cert" json:"cert"`
	// Key is the file with the private key of Cert.
	Key string `yaml:"key" json:"key"`
	// ClientCA, if set, is the file with the root certificates for client certificates, which
	// clients must then have.
	ClientCA string `yaml:"client_ca" json:"client_ca"`
}

// Problems returns every problem of f; key is the name of its section.
func (f Files) Problems(key string) fault.Problems {
	var p fault.Problems
	if (f.Cert == "") != (f.Key == "") {
		p.Missing(key, "a certificate needs a key, and a key needs a certificate", "set both")
	}
	if f.ClientCA != "" && f.Cert == "" {
		p.Missing(key+".client_ca", "client certificates need TLS", "set a certificate and its key, too")
	}
	return p
}

// Paths returns pointers to the paths in f, so that they can be replaced.
func (f *Files) Paths() []*string { return []*string{&f.Cert, &f.Key, &f.ClientCA} }

// Certificates holds the certificates of a server. They can be reloaded while it runs; open
// connections keep theirs. Nil means a server without TLS.
type Certificates struct {
	files   Files
	current atomic.Pointer[tls.Config]

	mu    sync.Mutex
	dates [3]time.Time // modification times at the last check
}

// Open reads the files, or returns nil if none are named.
func Open(files Files) (*Certificates, error) {
	if files.Cert == "" {
		return nil, nil
	}
	c := &Certificates{files: files}
	c.dates = c.look()
	return c, c.Reload()
}

// look returns the modification times of the files.
func (c *Certificates) look() (dates [3]time.Time) {
	for i, path := range c.files.Paths() {
		if info, err := os.Stat(*path); err == nil {
			dates[i] = info.ModTime()
		}
	}
	return dates
}

// latest returns the configuration for a new connection, from the current files or, while a
// renewal is incomplete, from the previous ones.
func (c *Certificates) latest() *tls.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	if dates := c.look(); dates != c.dates && c.Reload() == nil {
		c.dates = dates
	}
	return c.current.Load()
}

// Reload rereads the files. On an error everything stays unchanged.
func (c *Certificates) Reload() error {
	if c == nil {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(c.files.Cert, c.files.Key)
	if err != nil {
		return &fault.Error{
			Boundary: fault.Config, Kind: fault.Invalid, Where: c.files.Cert + ", " + c.files.Key, What: "the files are not a certificate and its key", Err: err,
			Hint: "use PEM files, and put the server's certificate first in its file, followed by intermediate certificates",
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
			return &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: c.files.ClientCA, What: "the file contains no certificate", Err: err, Hint: "name a PEM file with the root certificates for client certificates"}
		}
	}
	c.current.Store(config)
	return nil
}

// Config returns the configuration for a listener. It uses the current certificates at each
// handshake. It returns nil without TLS.
func (c *Certificates) Config() *tls.Config {
	if c == nil {
		return nil
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.latest(), nil },
	}
}

// Listener returns l with TLS, for servers other than HTTP servers, or l itself without TLS.
func (c *Certificates) Listener(l net.Listener) net.Listener {
	if c == nil {
		return l
	}
	return tls.NewListener(l, c.Config())
}
