package fleets

import (
	"crypto/tls"
	"crypto/x509"
	"os"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/fleet"
)

// trusted is TLS as cfg has it; nil if it names nothing.
func trusted(cfg fleet.Config) (*tls.Config, error) {
	if cfg.CA == "" && cfg.Cert == "" {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS13}
	wrong := func(key string, err error, what string) error {
		return &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: "fleet." + key, What: what, Err: err, Hint: "name PEM files, such as those of merit fleet keygen"}
	}
	if cfg.CA != "" {
		text, err := os.ReadFile(cfg.CA)
		if err != nil {
			return nil, wrong("ca", err, "the authority's certificate cannot be read")
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, wrong("ca", nil, "there is no certificate in "+cfg.CA)
		}
	}
	if cfg.Cert != "" {
		own, err := tls.LoadX509KeyPair(cfg.Cert, cfg.CertKey)
		if err != nil {
			return nil, wrong("cert", err, "the own certificate cannot be used")
		}
		c.Certificates = []tls.Certificate{own}
	}
	return c, nil
}
