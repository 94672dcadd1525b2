package httpd

import (
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limits of wrong keys per address.
const (
	guessesAtOnce   = 20
	guessesPerTime  = 1
	guessesTime     = time.Second
	mostAddresses   = 10_000
	lingerAtMost    = time.Second
	lingeringAtOnce = 1024
)

// Guesses limits wrong keys by the address that sends them: 20 at once, then one per second.
// Valid keys are not limited, so that clients that share an address with an attacker are not
// locked out. The zero value is ready to use.
type Guesses struct {
	mu    sync.Mutex
	known map[netip.Prefix]*rate.Limiter
}

// Wrong records a wrong key. If its address has sent too many, Wrong waits for up to a second,
// in which the connection can be evicted, and returns false; the response should then be 429.
func (g *Guesses) Wrong(r *http.Request) bool {
	if g.limiter(origin(r)).Allow() {
		return true
	}
	Linger(r)
	return false
}

func (g *Guesses) limiter(from netip.Prefix) *rate.Limiter {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.known[from]
	if l == nil {
		if g.known == nil || len(g.known) >= mostAddresses {
			g.known = map[netip.Prefix]*rate.Limiter{}
		}
		l = rate.NewLimiter(rate.Every(guessesTime/guessesPerTime), guessesAtOnce)
		g.known[from] = l
	}
	return l
}

// origin returns the origin of a request: an IPv4 address, or for IPv6 the /64 network of one
// subscriber. All Unix sockets of this machine are one origin.
func origin(r *http.Request) netip.Prefix {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return netip.Prefix{}
	}
	at, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Prefix{}
	}
	at = at.Unmap().WithZone("")
	if at.Is4() {
		return netip.PrefixFrom(at, 32)
	}
	network, _ := at.Prefix(64)
	return network
}

// lingering limits the requests that linger, because each holds a goroutine.
var lingering = make(chan struct{}, lingeringAtOnce)

// Linger delays a refusal by a second, so that clients that retry at once cost less than those
// that wait. Meanwhile the connection can be evicted.
func Linger(r *http.Request) {
	select {
	case lingering <- struct{}{}:
	default:
		return
	}
	defer func() { <-lingering }()
	at, _ := r.Context().Value(connKey{}).(connected)
	at.conn.linger()
	defer at.conn.enter()
	select {
	case <-time.After(lingerAtMost):
	case <-r.Context().Done():
	}
}
