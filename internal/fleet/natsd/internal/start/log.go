package start

import (
	"fmt"
	"log/slog"
)

// log takes what the server says. What it calls fatal keeps it from starting, and
// ends nothing here.
type log struct {
	to    *slog.Logger
	fatal chan error // of room for one: the first counts
}

// Noticef implements server.Logger.
func (l log) Noticef(format string, v ...any) { l.to.Debug(fmt.Sprintf(format, v...)) }

// Debugf implements server.Logger.
func (l log) Debugf(format string, v ...any) {}

// Tracef implements server.Logger.
func (l log) Tracef(format string, v ...any) {}

// Warnf implements server.Logger.
func (l log) Warnf(format string, v ...any) { l.to.Warn(fmt.Sprintf(format, v...)) }

// Errorf implements server.Logger.
func (l log) Errorf(format string, v ...any) { l.to.Warn(fmt.Sprintf(format, v...)) }

// Fatalf implements server.Logger.
func (l log) Fatalf(format string, v ...any) {
	select {
	case l.fatal <- fmt.Errorf(format, v...):
	default:
	}
}
