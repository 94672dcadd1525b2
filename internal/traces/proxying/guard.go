package proxying

import (
	"crypto/subtle"
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
	var guesses httpd.Guesses
	inner := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		switch {
		case r.listensLocal && !httpd.Loopback(q.Host):
			refuse(w, http.StatusForbidden, "this proxy is reached as 127.0.0.1 or localhost")
		case r.key != "" && !r.allowed(q) && !guesses.Wrong(q):
			w.Header().Set("Retry-After", "1")
			refuse(w, http.StatusTooManyRequests, "this address has sent too many wrong keys: use the proxy's, and ask again in a second")
		case r.key != "" && !r.allowed(q):
			refuse(w, http.StatusUnauthorized, "this proxy wants its key in the header "+HeaderKey)
		default:
			next.ServeHTTP(w, q)
		}
	})
	return http.NewCrossOriginProtection().Handler(inner)
}

func (r *resolved) allowed(q *http.Request) bool {
	said := q.Header.Get(HeaderKey)
	if said == "" && r.upstreamKey != "" {
		said = strings.TrimPrefix(q.Header.Get("Authorization"), "Bearer ")
	}
	return subtle.ConstantTimeCompare([]byte(said), []byte(r.key)) == 1
}

func refuse(w http.ResponseWriter, status int, what string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(`{"error":{"message":"` + what + `","type":"merit_proxy","code":"refused"}}` + "\n"))
}
