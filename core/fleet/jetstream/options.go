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
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/fleet"
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
	Hands  []string    // public keys of those whose results count; nil = whoever has a key of the server (coordinator)
	Label  string      // a word that workers must carry; empty = any worker (coordinator)
	Log    *slog.Logger
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
	key  nkeys.KeyPair // nil without a seed
	id   string        // public key, empty without a seed
	hurt chan error    // what the server refused, one at a time
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

// connect comes to the server. It waits for one that is not there yet until ctx
// ends; a server that refuses is an error at once.
func connect(ctx context.Context, o Options) (*conn, error) {
	o.Timings = o.Timings.orDefaults()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if !fleet.Word(o.Build) {
		return nil, refused(o.URL, "the build of this end has no name", "this is a mistake of the program")
	}
	c := &conn{Options: o, hurt: make(chan error, 1)}
	c.line.renew()
	opts := []nats.Option{
		nats.Name(o.Name), nats.MaxReconnects(-1), nats.ReconnectWait(100 * time.Millisecond), nats.ReconnectJitter(400*time.Millisecond, 900*time.Millisecond),
		nats.ReconnectBufSize(-1), nats.Timeout(10 * time.Second), nats.PingInterval(20 * time.Second), nats.MaxPingsOutstanding(2),
		nats.ErrorHandler(c.refusals), nats.PermissionErrOnSubscribe(true),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				o.Log.Warn("the server of the fleet is away; trying again", "cause", err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) {
			c.line.renew()
			o.Log.Info("the server of the fleet is back")
		}),
	}
	if o.Server != nil {
		opts = append(opts, nats.InProcessServer(o.Server))
	}
	if o.TLS != nil {
		opts = append(opts, nats.Secure(o.TLS))
	}
	if o.Seed != nil {
		var err error
		if c.key, err = nkeys.FromSeed(o.Seed); err != nil {
			return nil, refused("", "the key is no nkey seed", "make one with merit fleet keygen")
		}
		if c.id, err = c.key.PublicKey(); err != nil {
			return nil, err
		}
		opts = append(opts, nats.Nkey(c.id, c.key.Sign), nats.CustomInboxPrefix("_INBOX_"+c.id))
	}
	for {
		var err error
		if c.nc, err = nats.Connect(o.URL, opts...); err == nil {
			break
		}
		if ctx.Err() != nil || !away(err) {
			return nil, unreachable(o.URL, err)
		}
		o.Log.Warn("the server of the fleet is not there yet; trying again", "url", o.URL, "cause", err)
		select {
		case <-ctx.Done():
			return nil, unreachable(o.URL, err)
		case <-time.After(time.Second):
		}
	}
	var err error
	if c.js, err = jetstream.New(c.nc, jetstream.WithDefaultTimeout(answerPatience), jetstream.WithPublishAsyncTimeout(publishPatience)); err != nil {
		c.nc.Close()
		return nil, err
	}
	return c, nil
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

// away reports whether a server may yet come.
func away(err error) bool {
	var op *net.OpError
	return errors.Is(err, nats.ErrNoServers) || errors.Is(err, nats.ErrTimeout) || errors.As(err, &op)
}

// refusals takes what the server says beside answers: a call that was not
// permitted sees a timeout only, the reason comes here.
func (c *conn) refusals(_ *nats.Conn, _ *nats.Subscription, err error) {
	c.Log.Warn("the server of the fleet refuses", "cause", err)
	if errors.Is(err, nats.ErrPermissionViolation) {
		select {
		case c.hurt <- err:
		default:
		}
	}
}

func refused(where, what, hint string) error {
	return &fault.Error{Boundary: fault.Fleet, Kind: fault.Refused, Where: where, What: what, Hint: hint}
}

// unreachable says why a server cannot be used.
func unreachable(url string, err error) error {
	f := &fault.Error{Boundary: fault.Fleet, Kind: fault.Missing, Where: url, What: "no server of a fleet answers", Err: err, Hint: "see that it runs, that the address is the one it was given, and what its log says: while its disk is full it lets nobody in"}
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked):
		f.Kind, f.What, f.Hint = fault.Refused, "the server of the fleet does not know this key", "have its public key added to the users of the server (merit fleet keygen)"
	case errors.Is(err, nats.ErrSecureConnRequired), errors.Is(err, nats.ErrSecureConnWanted):
		f.Kind, f.What, f.Hint = fault.Refused, "one end wants TLS and the other does not", "use tls:// and --ca with a server that has a certificate"
	}
	return f
}
