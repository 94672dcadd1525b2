package proxying

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/merit-rl/merit/internal/httpd"
	"github.com/merit-rl/merit/internal/traces/proxy"
)

// HeaderKey is the header in which agents send the key of a proxy that requires one. If
// the proxy has its own key for the upstream, agents can send it as their key for the model instead.
const HeaderKey = "X-Merit-Key"

// guard rejects requests from web pages, which could reach this machine through their
// own host name or a form, and requests without the key.
func guard(next http.Handler, r resolved) http.Handler {
	who := httpd.Guard{Key: r.key, Here: r.listensLocal}
	inner := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		switch who.Check(w, q, who.Right(r.said(q))) {
		case http.StatusForbidden:
			refuse(w, q, http.StatusForbidden, "this proxy accepts requests only for the host 127.0.0.1 or localhost")
		case http.StatusTooManyRequests:
			refuse(w, q, http.StatusTooManyRequests, "this address has sent too many wrong keys: use the proxy's key, and retry in a second")
		case http.StatusUnauthorized:
			refuse(w, q, http.StatusUnauthorized, "this proxy requires its key in the header "+HeaderKey)
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
		said = cmp.Or(q.Header.Get("X-Api-Key"), strings.TrimPrefix(q.Header.Get("Authorization"), "Bearer "))
	}
	return said
}

func refuse(w http.ResponseWriter, q *http.Request, status int, what string) {
	proxy.Fail(w, q, status, "refused", what)
}
