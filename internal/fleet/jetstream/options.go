// Package jetstream spreads shards over workers on other machines by NATS
// JetStream: Dial is the coordinator's end, Work a worker's, and Admin looks on.
// It is the only package that knows the client's library.
//
// A shard is a message of a work queue, its result the one message of its own
// subject: the first is kept, and the server refuses all others. A worker
// publishes a result, waits until the server has it, and only then
// acknowledges the shard. So a worker, the coordinator and the server may die
// at any moment: what is lost is computed again. See shared design notes in
// docs/fleet.md.
package jetstream

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"github.com/merit-rl/merit/core/fault"
)

// InProcess is a server of this process.
type InProcess interface{ InProcessConn() (net.Conn, error) }

// Options say how a server is reached and who comes.
type Options struct {
	URL    string      // nats:// or tls://, several with commas; not read if Server is set
	Server InProcess   // nil = another process
	TLS    *tls.Config // nil = as the URL says, with the system's authorities
	Seed   []byte      // of the nkey that this end proves itself by; nil = none
	Name   string      // of this end, for those who look at the server
	Build  string      // a word: only workers of an equal one compute for a coordinator
	Label  string      // a word that workers must carry; empty = any worker (coordinator)
	Log    *slog.Logger
	// Replicas is how many servers of a cluster keep a copy of each stream
	// (coordinator); 0 = three where there are three, else one.
	Replicas int
	// Patience is how long a coordinator waits while no worker is there; 0 = ten minutes.
	Patience time.Duration
	Timings  Timings
}

// Timings are the clocks of the protocol. A zero value stands for the default,
// which is what users have; tests take shorter ones, the same at both ends.
type Timings struct {
	AckWait time.Duration // after which a shard that nobody vouches for is handed out again: 30 s
	Beat    time.Duration // how often a worker vouches for its shards and says how it is: 5 s
	Watch   time.Duration // how often a coordinator looks for shards that are lost: 30 s
	Grace   time.Duration // how long a worker that drains finishes what it has: 1 min
}

func (t Timings) orDefaults() Timings {
	set := func(d *time.Duration, to time.Duration) {
		if *d == 0 {
			*d = to
		}
	}
	set(&t.AckWait, 30*time.Second)
	set(&t.Beat, 5*time.Second)
	set(&t.Watch, 30*time.Second)
	set(&t.Grace, time.Minute)
	return t
}

// conn is a connection with what hangs on it.
type conn struct {
	Options
	nc   *nats.Conn
	js   jetstream.JetStream
	key  nkeys.KeyPair   // nil without a seed
	id   string          // public key, empty without a seed
	hurt chan error      // what the server refused, one at a time
	gone context.Context // over when the server lets this end in no more; the cause says why
	line line
	// streams are those that were asked for before, by name: to look one up asks
	// the server.
	streams sync.Map
}

// stream returns a stream of the server that may be gone meanwhile: then what it is
// asked for says so.
func (c *conn) stream(ctx context.Context, name string) (jetstream.Stream, error) {
	if s, ok := c.streams.Load(name); ok {
		return s.(jetstream.Stream), nil
	}
	s, err := c.js.Stream(ctx, name)
	if err == nil {
		c.streams.Store(name, s)
	}
	return s, err
}

// line is over when the server came back after it was away: what was asked before
// is forgotten there.
type line struct {
	mutex sync.Mutex
	ctx   context.Context
	over  context.CancelFunc
	n     int // how often it was made
}

// number says which line this is: another one means that the server was away.
func (l *line) number() int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.n
}

func (l *line) renew() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.over != nil {
		l.over()
	}
	l.ctx, l.over = context.WithCancel(context.Background())
	l.n++
}

// within returns a context that is over when ctx is, the line is, or after d.
func (l *line) within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	ctx, cancel := context.WithTimeout(ctx, d)
	stop := context.AfterFunc(l.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// publishPatience is how long the server may take to say that it has a message.
const publishPatience = 3 * time.Second

// answerPatience is how long the server may take to answer. One that died since
// it was asked does not, and is asked again when it is back.
const answerPatience = 5 * time.Second

// publish puts a message into a stream. What it says may be published again: the
// stream has it once. So a server that dies meanwhile is not waited for long.
func (c *conn) publish(ctx context.Context, m *nats.Msg) error {
	ctx, cancel := context.WithTimeout(ctx, publishPatience)
	defer cancel()
	_, err := c.js.PublishMsg(ctx, m, jetstream.WithRetryAttempts(0))
	return err
}

func refused(where, what, hint string) error {
	return &fault.Error{Boundary: fault.Fleet, Kind: fault.Refused, Where: where, What: what, Hint: hint}
}
