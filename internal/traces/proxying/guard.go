package proxying

import (
	"net/http"
	"strings"

	"github.com/merit-rl/merit/internal/httpd"
)

// HeaderKey is the header in which agents send the key of a proxy that requires one. If
// the proxy has its own key for the upstream, agents can use Authorization instead.
const HeaderKey = "X-Merit-Key"

// guard rejects requests from web pages, which could reach this machine through their
// own host name or a form, and requests without the key.
func guard(next http.Handler, r resolved) http.Handler {
	who := httpd.Guard{Key: r.key, Here: r.listensLocal}
	inner := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		switch who.Check(w, q, who.Right(r.said(q))) {
		case http.StatusForbidden:
			refuse(w, http.StatusForbidden, "this proxy accepts requests only for the host 127.0.0.1 or localhost")
		case http.StatusTooManyRequests:
			refuse(w, http.StatusTooManyRequests, "this address has sent too many wrong keys: use the proxy's key, and retry in a second")
		case http.StatusUnauthorized:
			refuse(w, http.StatusUnauthorized, "this proxy requires its key in the header "+HeaderKey)
		default:
			next.ServeHTTP(w, q)
		}
	})
	return http.NewCrossOriginProtection().Handler(inner)
}

// said returns the key that a request sent.
func (r *resolved) said(q *http.Request) string {
	said := q.Header.Get(HeaderKey)
	if said == "" && r.upstreamKey != "" {
		said = strings.TrimPrefix(q.Header.Get("Authorization"), "Bearer ")
	}
	return said
}

func refuse(w http.ResponseWriter, status int, what string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(`{"error":{"message":"` + what + `","type":"merit_proxy","code":"refused"}}` + "\n"))
}
