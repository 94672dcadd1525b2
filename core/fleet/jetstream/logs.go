package jetstream

import (
	"log/slog"
	"sync"
	"time"
)

// logs sends what a worker logs to the fleet, too: so many lines a second at most.
type logs struct {
	*conn
	subject string

	mutex  sync.Mutex
	second int64
	lines  int
}

// maxLines is how many lines a worker sends in a second.
const maxLines = 20

// alsoTo returns a logger that writes to log and to the fleet.
func alsoTo(c *conn, worker string) *slog.Logger {
	l := &logs{conn: c, subject: "merit.log." + worker}
	to := slog.NewTextHandler(l, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.TimeKey {
			return slog.Attr{} // the server has its own
		}
		return a
	}})
	return slog.New(slog.NewMultiHandler(c.Log.Handler(), to))
}

// Write implements io.Writer. What does not arrive is lost: a log holds up no work.
func (l *logs) Write(line []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if now := time.Now().Unix(); now != l.second {
		l.second, l.lines = now, 0
	}
	if l.lines++; l.lines <= maxLines {
		_ = l.nc.Publish(l.subject, []byte(plain(line[:max(0, len(line)-1)], maxLog)))
	}
	return len(line), nil
}
