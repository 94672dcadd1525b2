package proxying

import (
	"net/http"
	"strings"

	"github.com/merit-rl/merit/internal/httpd"
)

// HeaderKey is where agents send the key of a proxy that wants one. Where the
// proxy has a key of its own for the upstream, Authorization does as well.
const HeaderKey = "X-Merit-Key"

// guard keeps strangers away: pages of a browser, which could reach this
// machine by a name of theirs or send a form, and who has no key.
func guard(next http.Handler, r resolved) http.Handler {
	who := httpd.Guard{Key: r.key, Here: r.listensLocal}
	inner := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		switch who.Check(w, q, who.Right(r.said(q))) {
		case http.StatusForbidden:
			refuse(w, http.StatusForbidden, "this proxy is reached as 127.0.0.1 or localhost")
		case http.StatusTooManyRequests:
			refuse(w, http.StatusTooManyRequests, "this address has sent too many wrong keys: use the proxy's, and ask again in a second")
		case http.StatusUnauthorized:
			refuse(w, http.StatusUnauthorized, "this proxy wants its key in the header "+HeaderKey)
		default:
			next.ServeHTTP(w, q)
		}
	})
	return http.NewCrossOriginProtection().Handler(inner)
}

// said is the key that a request has sent.
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
