package serving

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"sync/atomic"

	"github.com/merit-rl/merit/core/fault"
)

// certificates are those of a server. They can be read again while it runs:
// connections that stand go on with what they have.
type certificates struct {
	files   TLS
	current atomic.Pointer[tls.Config]
}

// openCertificates reads the files, or gives nil if there are none.
func openCertificates(files TLS) (*certificates, error) {
	if files.Cert == "" {
		return nil, nil
	}
	c := &certificates{files: files}
	return c, c.reload()
}

// reload reads the files again: all or nothing.
func (c *certificates) reload() error {
	pair, err := tls.LoadX509KeyPair(c.files.Cert, c.files.Key)
	if err != nil {
		return &fault.Error{
			Boundary: fault.Config, Kind: fault.Invalid, Where: c.files.Cert + ", " + c.files.Key, What: "is no certificate with its key", Err: err,
			Hint: "both are PEM files; the certificate comes first in its file, then those between it and its root",
		}
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

// config is what a listener uses: what is current at each handshake.
func (c *certificates) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.current.Load(), nil },
	}
}
