package fleets

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/fleet"
	"github.com/merit-rl/merit/sdk/merit"
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

// confine holds the configuration of a job that lies in dir to what a worker lends
// to anybody who may send jobs: its rewards read files of the job and no others,
// also behind links, Merit's folders are the worker's own, and its key is nobody's.
// What a plug-in reads is its own affair, which is why plug-ins are listed.
func confine(cfg *merit.Config, dir string, links []string) error {
	cfg.Sandbox.CacheDir, cfg.Sandbox.InterpreterDir = "", ""
	var errs []error
	own := func(path string) string {
		name, err := filepath.Rel(dir, path)
		parts := strings.Split(filepath.ToSlash(name), "/")
		if err != nil || len(parts) < 3 || parts[0] != "files" {
			errs = append(errs, fmt.Errorf("its rewards read %.200q, which is none of its files", path))
			return path
		}
		root := strings.Join(parts[:2], "/") + "/"
		if i := slices.IndexFunc(links, func(link string) bool { return strings.HasPrefix(link+"/", root) }); i >= 0 {
			errs = append(errs, fmt.Errorf("its rewards read the link %.200q", links[i]))
		}
		return path
	}
	names := slices.Concat(cfg.Environment.PassEnv, cfg.Policy.PassEnv)
	for _, r := range cfg.Rewards {
		r.EachPath(own)
		if r.Judge != nil {
			names = append(names, r.Judge.Server.KeyEnv)
		}
		if r.Rubric != nil && r.Rubric.Judge != nil && r.Rubric.Judge.Server != nil {
			names = append(names, r.Rubric.Judge.Server.KeyEnv)
		}
	}
	if slices.Contains(names, KeyVariable) {
		errs = append(errs, errors.New("it asks for the worker's own key, "+KeyVariable))
	}
	return errors.Join(errs...)
}
