package serving

import (
	"log/slog"
	"net/http"
	"time"
)

// logged writes each request to log at debug, when it was answered. Neither keys
// nor bodies are in it.
func logged(log *slog.Logger, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !log.Enabled(r.Context(), slog.LevelDebug) {
			h.ServeHTTP(w, r)
			return
		}
		began, n := time.Now(), &noted{ResponseWriter: w}
		defer func() {
			log.Debug("request", "method", r.Method, "path", r.URL.Path, "status", n.status, "bytes", n.bytes, "seconds", time.Since(began).Seconds(), "from", r.RemoteAddr)
		}()
		h.ServeHTTP(n, r)
	})
}

// noted remembers what was answered.
type noted struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (n *noted) WriteHeader(status int) {
	if status >= 200 {
		n.status = status
	}
	n.ResponseWriter.WriteHeader(status)
}

func (n *noted) Write(p []byte) (int, error) {
	if n.status == 0 {
		n.status = http.StatusOK
	}
	written, err := n.ResponseWriter.Write(p)
	n.bytes += int64(written)
	return written, err
}

// Unwrap is for http.ResponseController: streams go both ways through it.
func (n *noted) Unwrap() http.ResponseWriter { return n.ResponseWriter }
