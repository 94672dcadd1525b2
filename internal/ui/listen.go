package ui

import (
	"errors"
	"net"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/httpd"
)

// check reports everything in the configuration that cannot be, and decides who
// may read.
func (s *Server) check() error {
	var errs []error
	wrong := func(kind fault.Kind, where, what, hint string) {
		errs = append(errs, &fault.Error{Boundary: fault.Config, Kind: kind, Where: where, What: what, Hint: hint})
	}
	host, _, err := net.SplitHostPort(s.config.Listen)
	if err != nil {
		wrong(fault.Invalid, "listen", "is "+s.config.Listen+", which is no HOST:PORT", "write 127.0.0.1:8720, or 127.0.0.1:0 for a free port")
	} else if s.private = !httpd.Loopback(host); s.private && s.config.Key == "" {
		wrong(fault.Refused, "listen", s.config.Listen+" can be reached by others, who would read all runs and traces", "listen on 127.0.0.1 and come in by ssh -L, or give a key with --key-file")
	}
	if weak := httpd.WeakKey(s.config.Key); s.config.Key != "" && weak != "" {
		wrong(fault.Invalid, "key", weak, "let --key-file make one")
	}
	for _, problem := range s.config.TLS.Problems("tls") {
		errs = append(errs, problem)
	}
	return errors.Join(errs...)
}
