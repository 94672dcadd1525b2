package queue

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
	Watch   time.Duration // how often a coordinator looks for shards of which it hears nothing: 10 s
	Grace   time.Duration // how long a worker that drains finishes what it has: 1 min
}

func (t Timings) orDefaults() Timings {
	for d, to := range map[*time.Duration]time.Duration{&t.AckWait: 30 * time.Second, &t.Beat: 5 * time.Second, &t.Watch: 10 * time.Second, &t.Grace: time.Minute} {
		if *d == 0 {
			*d = to
		}
	}
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
	line atomic.Pointer[line]
	// streams are those that were asked for before, by name: to look one up asks
	// the server.
	streams sync.Map
}

// line is over when the server came back after it was away: what was asked before
// is forgotten there.
type line struct {
	context.Context
	over context.CancelFunc
}

func (c *conn) renew() {
	ctx, over := context.WithCancel(context.Background())
	if old := c.line.Swap(&line{ctx, over}); old != nil {
		old.over()
	}
}

// hangUps is how often a server may end the connection behind a handshake, as it
// does when it stops and when it does not believe this end, before it is the latter.
const hangUps = 3

// connect comes to the server. It waits for one that is not there yet until ctx
// ends; a server that refuses, or cannot be trusted, is an error at once.
func connect(ctx context.Context, o Options) (*conn, error) {
	o.Timings = o.Timings.orDefaults()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if !Word(o.Build) {
		return nil, refused(o.URL, "the build of this end has no name", "this is a mistake of the program")
	}
	c := &conn{Options: o, hurt: make(chan error, 1)}
	c.renew()
	opts, err := c.options()
	if err != nil {
		return nil, err
	}
	for hung := 0; ; {
		if c.nc, err = nats.Connect(o.URL, opts...); err == nil {
			break
		}
		if errors.Is(err, nats.ErrTLS) {
			hung++
		}
		if o.Server == nil && silent(err) && secretive(o.URL) {
			return nil, refused(o.URL, "what answers there wants TLS before it says a word, which no server of a fleet does", "see that the address is that of a fleet's server; for a NATS server of your own, take handshake_first out of its configuration")
		}
		if ctx.Err() != nil || !away(err) || hung >= hangUps || !pause(ctx, time.Second) {
			return nil, unreachable(o.URL, err)
		}
		o.Log.Warn("the server of the fleet is not there yet; trying again", "url", o.URL, "cause", err)
	}
	if c.js, err = jetstream.New(c.nc, jetstream.WithDefaultTimeout(answerPatience), jetstream.WithPublishAsyncTimeout(publishPatience)); err != nil {
		c.nc.Close()
		return nil, err
	}
	return c, nil
}

// options are what the client's library needs to know, and who is told what.
func (c *conn) options() ([]nats.Option, error) {
	o := c.Options
	gone, leave := context.WithCancelCause(context.Background())
	c.gone = gone
	trust, jitter := o.TLS, 400*time.Millisecond
	if trust != nil || strings.HasPrefix(o.URL, "tls://") {
		jitter = 900 * time.Millisecond
	}
	if trust == nil {
		trust = &tls.Config{MinVersion: tls.VersionTLS13}
	}
	told := "" // the library calls one handler at a time
	opts := []nats.Option{
		nats.Name(o.Name), nats.MaxReconnects(-1), nats.ReconnectWait(100 * time.Millisecond), nats.ReconnectJitter(jitter, jitter),
		nats.ReconnectBufSize(-1), nats.Timeout(10 * time.Second), nats.PingInterval(20 * time.Second), nats.MaxPingsOutstanding(2),
		nats.ErrorHandler(c.refusals), nats.PermissionErrOnSubscribe(true),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				o.Log.Warn("the server of the fleet is away; trying again", "cause", err)
			}
		}),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) {
			if !away(err) && err.Error() != told {
				told = err.Error()
				o.Log.Warn("the server of the fleet is there, and cannot be used; trying again", "cause", unreachable(o.URL, err))
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) {
			told = ""
			c.renew()
			o.Log.Info("the server of the fleet is back")
		}),
		// The library gives up by itself only where the server refuses the key.
		nats.ClosedHandler(func(nc *nats.Conn) { leave(unreachable(o.URL, nc.LastError())) }),
		// A server that has TLS gets it also by nats://, and never an old one.
		func(l *nats.Options) error { l.TLSConfig = trust; return nil },
	}
	if o.Server != nil {
		opts = append(opts, nats.InProcessServer(o.Server))
	}
	if o.TLS != nil {
		opts = append(opts, nats.Secure(o.TLS))
	}
	if o.Seed == nil {
		return opts, nil
	}
	var err error
	if c.key, err = nkeys.FromSeed(o.Seed); err != nil {
		return nil, refused("", "the key is no nkey seed", "make one with merit fleet keygen")
	}
	if c.id, err = c.key.PublicKey(); err != nil {
		return nil, err
	}
	return append(opts, nats.Nkey(c.id, c.key.Sign), nats.CustomInboxPrefix("_INBOX_"+c.id)), nil
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

const (
	// publishPatience is how long the server may take to say that it has a message.
	publishPatience = 3 * time.Second
	// answerPatience is how long the server may take to answer. One that died since
	// it was asked does not, and is asked again when it is back.
	answerPatience = 5 * time.Second
)

// publish puts a message into a stream. What it says may be published again: the
// stream has it once. So a server that dies meanwhile is not waited for long.
func (c *conn) publish(ctx context.Context, m *nats.Msg) error {
	ctx, cancel := context.WithTimeout(ctx, publishPatience)
	defer cancel()
	_, err := c.js.PublishMsg(ctx, m, jetstream.WithRetryAttempts(0))
	return err
}

// until does something as often as it takes, while the server is away, has no room,
// or has lost its streams, which restore makes again. The error is of what does not
// pass by waiting, or the last one before ctx ended. Nothing else waits for a server.
func (c *conn) until(ctx context.Context, what string, restore func(context.Context) error, do func() error) error {
	var before error
	for ; ; pause(ctx, 250*time.Millisecond) {
		err := do()
		if err != nil && ctx.Err() != nil && before != nil {
			err = before // of more use than that time is up
		}
		if err == nil || ctx.Err() != nil || !full(err) && !lost(err) || len(c.hurt) > 0 { // who may not do it sees a timeout
			return c.explain(err, what)
		}
		if restore != nil && streamless(err) {
			if err := restore(ctx); err != nil && !lost(err) {
				return err
			}
		}
		if before == nil {
			c.Log.Warn("the server of the fleet is away or has no room; waiting", "cause", err)
		}
		before = err
	}
}

// pause waits, and reports whether ctx still holds.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// Codes of the server's answers that the client's library does not name.
const (
	codeNoPeers         = 10005 // too few servers for the copies, or too few with room
	codeAlone           = 10074 // no copies: the server is in no cluster
	codeRefused         = 10077 // the limits of a stream keep a message out
	codeOffline         = 10118 // of a stream: its servers are away
	codeConsumerOffline = 10119
)

// coded reports whether err is an answer of the server with one of codes.
func coded(err error, codes ...jetstream.ErrorCode) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && slices.Contains(codes, api.ErrorCode)
}

// lost reports whether err says that the server or its streams are away, which
// come back or are made again.
func lost(err error) bool {
	var api *jetstream.APIError
	return isAny(err,
		jetstream.ErrStreamNotFound, jetstream.ErrConsumerNotFound, jetstream.ErrNoStreamResponse, jetstream.ErrBucketNotFound, jetstream.ErrNoHeartbeat, jetstream.ErrConsumerDeleted,
		nats.ErrNoResponders, nats.ErrTimeout, nats.ErrConnectionReconnecting, nats.ErrDisconnected, nats.ErrNoServers, nats.ErrReconnectBufExceeded,
		context.DeadlineExceeded, nats.ErrConnectionClosed, jetstream.ErrAsyncPublishTimeout, nats.ErrStaleConnection, jetstream.ErrJetStreamNotEnabled,
	) || errors.As(err, &api) && api.Code == 503 || coded(err, codeOffline, codeConsumerOffline)
}

// streamless reports whether err may say that a stream is not there any more; it may
// also be one whose servers choose who leads it.
func streamless(err error) bool {
	return isAny(err, jetstream.ErrStreamNotFound, jetstream.ErrNoStreamResponse, jetstream.ErrBucketNotFound)
}

func isAny(err error, all ...error) bool {
	return slices.ContainsFunc(all, func(e error) bool { return errors.Is(err, e) })
}

// full reports whether err says that the server has no room, which may pass.
func full(err error) bool { return noRoom(err) || coded(err, codeRefused) && !taken(err) }

// noRoom reports whether err says that there is no room for a stream, or for what
// it may have at most: insufficient storage or resources, limits of the account.
func noRoom(err error) bool { return coded(err, 10047, 10023, 10028, 10002, codeNoPeers) }

// taken reports whether err says that a subject has its one message.
func taken(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == codeRefused && strings.Contains(api.Description, "per subject")
}

// explain puts what the server said beside a call into its error.
func (c *conn) explain(err error, what string) error {
	if err == nil || errors.Is(err, context.Canceled) || fault.As(err) != nil {
		return err
	}
	select {
	case denied := <-c.hurt:
		return c.denied(denied, what)
	default:
	}
	f := &fault.Error{Boundary: fault.Fleet, Kind: fault.Crashed, Where: c.nc.ConnectedUrlRedacted(), What: what, Err: err, Hint: "look at the server of the fleet and at its log"}
	switch {
	case coded(err, codeAlone):
		f.Kind, f.Hint = fault.Refused, "set fleet.replicas to 0 or 1, or use a cluster of as many servers"
	case full(err):
		f.Kind, f.Hint = fault.Exhausted, "give the servers more room, or the team a larger quota; a cluster needs as many servers as there are to be copies"
	}
	return f
}

// denied is the error of a call that this end may not make.
func (c *conn) denied(err error, what string) error {
	return &fault.Error{
		Boundary: fault.Fleet, Kind: fault.Refused, Where: c.nc.ConnectedUrlRedacted(), What: what, Err: err,
		Hint: "use a key whose role may do this, or have the role changed in the server's users",
	}
}
