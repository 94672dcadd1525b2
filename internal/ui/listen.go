package ui

import (
	"errors"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/httpd"
)

// check reports everything in the configuration that cannot be, and decides who
// may read.
func (s *Server) check() error {
	var p fault.Problems
	httpd.CheckListen(&p, "--listen", s.config.Listen, s.config.Key != "", "--key-file", "read all runs and traces")
	httpd.CheckKey(&p, s.config.Key)
	s.private = !httpd.Loopback(s.config.Listen)
	return errors.Join(append(p, s.config.TLS.Problems("tls")...)...)
}
