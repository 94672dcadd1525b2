package natsd

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// run starts a server and waits until it accepts connections.
func run(ctx context.Context, opts *server.Options, to *slog.Logger) (*server.Server, error) {
	s, err := server.NewServer(opts)
	if err != nil {
		return nil, err
	}
	l := said{to, make(chan error, 1)}
	s.SetLoggerV2(l, false, false, false)
	go s.Start()
	for !s.ReadyForConnections(50 * time.Millisecond) {
		select {
		case err = <-l.fatal:
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

// said forwards the server's log to a slog.Logger. A message at level fatal makes the start
// fail; it does not exit this process.
type said struct {
	to    *slog.Logger
	fatal chan error // has room for one message; the first counts
}

// Noticef implements server.Logger.
func (l said) Noticef(format string, v ...any) { l.to.Debug(fmt.Sprintf(format, v...)) }

// Debugf implements server.Logger.
func (l said) Debugf(format string, v ...any) {}

// Tracef implements server.Logger.
func (l said) Tracef(format string, v ...any) {}

// Warnf implements server.Logger.
func (l said) Warnf(format string, v ...any) { l.to.Warn(fmt.Sprintf(format, v...)) }

// Errorf implements server.Logger.
func (l said) Errorf(format string, v ...any) { l.to.Warn(fmt.Sprintf(format, v...)) }

// Fatalf implements server.Logger.
func (l said) Fatalf(format string, v ...any) {
	select {
	case l.fatal <- fmt.Errorf(format, v...):
	default:
	}
}
