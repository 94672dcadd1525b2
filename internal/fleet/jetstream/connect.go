package jetstream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/fleet"
)

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
	if !fleet.Word(o.Build) {
		return nil, refused(o.URL, "the build of this end has no name", "this is a mistake of the program")
	}
	c := &conn{Options: o, hurt: make(chan error, 1)}
	c.line.renew()
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
		if ctx.Err() != nil || !away(err) || hung >= hangUps {
			return nil, unreachable(o.URL, err)
		}
		o.Log.Warn("the server of the fleet is not there yet; trying again", "url", o.URL, "cause", err)
		select {
		case <-ctx.Done():
			return nil, unreachable(o.URL, err)
		case <-time.After(time.Second):
		}
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
	trust := o.TLS
	if trust == nil {
		trust = &tls.Config{MinVersion: tls.VersionTLS13}
	}
	jitter := 400 * time.Millisecond
	if o.TLS != nil || strings.HasPrefix(o.URL, "tls://") {
		jitter = 900 * time.Millisecond
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
			c.line.renew()
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

// away reports whether a server may yet come. What it says, and what its certificate
// says, does not pass by waiting.
func away(err error) bool {
	var op *net.OpError
	if errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error") { // an alert of TLS
		return false
	}
	if errors.Is(err, nats.ErrTLS) {
		return op != nil || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
	}
	return errors.Is(err, nats.ErrNoServers) || errors.Is(err, nats.ErrTimeout) || op != nil || errors.Is(err, io.EOF)
}

// silent reports whether somebody took the connection and said nothing.
func silent(err error) bool {
	var op *net.OpError
	return errors.Is(err, nats.ErrTimeout) || errors.As(err, &op) && op.Op == "read" && op.Timeout()
}

// secretive reports whether what answers at the first address speaks TLS at once.
func secretive(address string) bool {
	first, _, _ := strings.Cut(address, ",")
	u, err := url.Parse(first)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	// Nothing is sent to it: whether it can be trusted does not matter.
	d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}}
	c, err := d.DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
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

// unreachable says why a server cannot be used.
func unreachable(url string, err error) error {
	f := &fault.Error{Boundary: fault.Fleet, Kind: fault.Refused, Where: url, Err: err}
	f.What, f.Hint = untrusted(err)
	switch {
	case f.What != "":
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked):
		f.What, f.Hint = "the server of the fleet does not know this key", "name a key whose public half is among the users of the server (merit fleet keygen makes both), by --key, by fleet.key of a run or in MERIT_FLEET_KEY"
	case errors.Is(err, nats.ErrNkeysNotSupported):
		f.What, f.Hint = "the server of the fleet knows no keys, and this end has one", "start the server with a file of users, or come without a key"
	case errors.Is(err, nats.ErrNoInfoReceived):
		f.What, f.Hint = "what answers there is no server of a fleet", "see that host and port are those of merit fleet serve"
	default:
		f.Kind, f.What = fault.Missing, "no server of a fleet answers"
		f.Hint = "see that it runs, that the address is the one it was given, and what its log says: while its disk is full it lets nobody in"
	}
	return f
}

// untrusted says why the ends cannot trust each other by TLS, and what to do; empty
// is another reason.
func untrusted(err error) (what, hint string) {
	var invalid x509.CertificateInvalidError
	var name x509.HostnameError
	var authority x509.UnknownAuthorityError
	var record tls.RecordHeaderError
	said := ""
	if err != nil {
		said = err.Error()
	}
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the certificate of the fleet's server has expired, or is not valid yet", "renew it (merit fleet keygen server): the server takes the new files at the next connection; and see that the clocks of both machines are right"
	case errors.As(err, &name):
		return "the certificate of the fleet's server is for other names than this address", "use a name that stands in it, or make one for this name: merit fleet keygen server --name HOST"
	case errors.As(err, &authority):
		return "nobody whom this end believes vouches for the certificate of the fleet's server", "name the file of its authority with --ca (fleet.ca): for a certificate of merit fleet keygen server it is that .pem file itself"
	case errors.Is(err, nats.ErrSecureConnWanted):
		return "this end wants TLS, and the server of the fleet has no certificate", "start the server with --cert and --cert-key; or, on this machine, use nats:// without --ca"
	case strings.Contains(said, "certificate required"):
		return "the server of the fleet wants a certificate of this end", "name one that it believes with --cert and --cert-key (fleet.cert, fleet.cert_key)"
	case strings.Contains(said, "closed by remote after TLS handshake"):
		return "the server of the fleet hangs up behind the handshake, as one that wants a certificate of this end or does not believe it", "name one that it believes with --cert and --cert-key (fleet.cert, fleet.cert_key)"
	case strings.Contains(said, "protocol version"):
		return "the server of the fleet does not speak TLS 1.3, and this end nothing older", "have the server updated, or its TLS configured for 1.3"
	case errors.As(err, &record):
		return "what answers there speaks no TLS", "see that host and port are those of the fleet's server"
	case strings.Contains(said, "remote error: tls:"):
		return "the server of the fleet does not believe the certificate of this end", "have its authority added to those that the server believes, or name another one with --cert and --cert-key"
	case errors.Is(err, nats.ErrTLS):
		return "the server of the fleet cannot be trusted", "see the cause: its certificate, --ca and the clocks of both machines"
	}
	return "", ""
}
