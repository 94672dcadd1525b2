package httpd

import (
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Wrong keys that one address may send.
const (
	guessesAtOnce   = 20
	guessesPerTime  = 1
	guessesTime     = time.Second
	mostAddresses   = 10_000
	lingerAtMost    = time.Second
	lingeringAtOnce = 1024
)

// Guesses limits wrong keys by the address that sends them: 20 at once, then one a
// second. Right keys are not limited, so that nobody who shares an address is kept
// out. The zero value is ready.
type Guesses struct {
	mu    sync.Mutex
	known map[netip.Prefix]*rate.Limiter
}

// Wrong notes a wrong key. If its address has sent too many, Wrong waits a moment,
// in which the connection makes room for others, and returns false: the answer is
// then 429.
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

// origin is where a request comes from: an address, or for IPv6 the network of 64
// bits that one subscriber has. Sockets of this machine are one origin.
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

// lingering bounds the requests that linger: each holds a goroutine.
var lingering = make(chan struct{}, lingeringAtOnce)

// Linger holds a refusal back for a second, so that whoever asks again at once
// costs less than those who wait. Meanwhile the connection makes room for others.
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
