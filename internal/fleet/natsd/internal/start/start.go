// Package start starts a NATS server in this process and waits for it.
package start

import (
	"context"
	"log/slog"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Server starts a server and waits until it takes connections.
func Server(ctx context.Context, opts *server.Options, to *slog.Logger) (*server.Server, error) {
	s, err := server.NewServer(opts)
	if err != nil {
		return nil, err
	}
	said := log{to, make(chan error, 1)}
	s.SetLoggerV2(said, false, false, false)
	go s.Start()
	for !s.ReadyForConnections(50 * time.Millisecond) {
		select {
		case err = <-said.fatal:
		case <-ctx.Done():
			err = ctx.Err()
		default:
			continue
		}
		s.Shutdown()
		s.WaitForShutdown()
		return nil, err
	}
	return s, nil
}
