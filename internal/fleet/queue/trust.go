package queue

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/merit-rl/merit/core/fault"
)

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
	said := func(text string) bool { return err != nil && strings.Contains(err.Error(), text) }
	const own = "name one that it believes with --tls-cert and --tls-key (fleet.cert, fleet.cert_key)"
	for _, x := range []struct {
		is         bool
		what, hint string
	}{
		{errors.As(err, &invalid) && invalid.Reason == x509.Expired, "the certificate of the fleet's server has expired, or is not valid yet", "renew it (merit fleet keygen server): the server takes the new files at the next connection; and see that the clocks of both machines are right"},
		{errors.As(err, &name), "the certificate of the fleet's server is for other names than this address", "use a name that stands in it, or make one for this name: merit fleet keygen server --name HOST"},
		{errors.As(err, &authority), "nobody whom this end believes vouches for the certificate of the fleet's server", "name the file of its authority with --ca (fleet.ca): for a certificate of merit fleet keygen server it is that .pem file itself"},
		{errors.Is(err, nats.ErrSecureConnWanted), "this end wants TLS, and the server of the fleet has no certificate", "start the server with --tls-cert and --tls-key; or, on this machine, use nats:// without --ca"},
		{said("certificate required"), "the server of the fleet wants a certificate of this end", own},
		{said("closed by remote after TLS handshake"), "the server of the fleet hangs up behind the handshake, as one that wants a certificate of this end or does not believe it", own},
		{said("protocol version"), "the server of the fleet does not speak TLS 1.3, and this end nothing older", "have the server updated, or its TLS configured for 1.3"},
		{errors.As(err, &record), "what answers there speaks no TLS", "see that host and port are those of the fleet's server"},
		{said("remote error: tls:"), "the server of the fleet does not believe the certificate of this end", "have its authority added to those that the server believes, or name another one with --tls-cert and --tls-key"},
		{errors.Is(err, nats.ErrTLS), "the server of the fleet cannot be trusted", "see the cause: its certificate, --ca and the clocks of both machines"},
	} {
		if x.is {
			return x.what, x.hint
		}
	}
	return "", ""
}
