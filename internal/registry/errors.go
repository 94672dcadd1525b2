package registry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/archive"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"
)

// What a caller can do something about. The *fault.Error of each wraps it.
var (
	ErrUnauthorized = errors.New("the registry does not accept who asks (401)")
	ErrUntrusted    = errors.New("the registry's certificate is not trusted")
	ErrNoTLS        = errors.New("the registry speaks no TLS")
	ErrExists       = errors.New("is there already")
)

// explain turns what went wrong between this machine and a registry into a
// *fault.Error, or gives the cause of ctx if that is over.
func (c *client) explain(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	if f := fault.As(err); f != nil {
		return f // of the credentials, say, without the request around it
	}
	f := &fault.Error{Boundary: fault.Registry, Kind: fault.Protocol, Where: c.ref.String(), What: "the registry's answer cannot be used", Err: err,
		Hint: "check that the address is that of an OCI registry"}
	if answer := new(errcode.ErrorResponse); errors.As(err, &answer) {
		refused(f, answer)
		return f
	}
	switch text := err.Error(); {
	case errors.Is(err, auth.ErrBasicCredentialNotFound):
		refused(f, &errcode.ErrorResponse{StatusCode: http.StatusUnauthorized})
	case errors.Is(err, errdef.ErrNotFound):
		refused(f, &errcode.ErrorResponse{StatusCode: http.StatusNotFound})
	case errors.Is(err, content.ErrMismatchedDigest), errors.Is(err, content.ErrTrailingData), strings.Contains(text, "mismatch Content-Length"), strings.Contains(text, "digest mismatch"):
		f.Kind, f.What, f.Hint = fault.Corrupt, "what the registry holds is not what its digest says", "it was changed or damaged after it was pushed: push it again, and do not use what is there"
	default:
		unreached(f, err)
	}
	return f
}

// refused says what an answer with an error's status means.
func refused(f *fault.Error, answer *errcode.ErrorResponse) {
	f.Err = nil
	if len(answer.Errors) > 0 {
		f.Err = errors.New(archive.Quote(answer.Errors.Error()))
	}
	if answer.StatusCode == http.StatusUnauthorized {
		f.Kind, f.What, f.Err = fault.Refused, "", ErrUnauthorized
		f.Hint = "log in with Docker's or another client, which store credentials in ~/.docker/config.json, or give a user name and password"
		return
	}
	switch code := answer.StatusCode; {
	case code == http.StatusForbidden:
		f.Kind, f.What, f.Hint = fault.Refused, "the registry does not allow it (403)", "ask its operator for the right to this repository, or use another account"
	case code == http.StatusNotFound:
		f.Kind, f.What, f.Hint = fault.Missing, "the registry does not have it (404)", "check repository and tag; one that is private may hide from who has not logged in"
	case code == http.StatusTooManyRequests:
		f.Kind, f.Retry, f.What, f.Hint = fault.Exhausted, true, "the registry takes no more requests for now (429)", "wait, or log in: many registries allow more to who has an account"
	case code == http.StatusRequestEntityTooLarge:
		f.Kind, f.What, f.Hint = fault.Exhausted, "the registry does not take so much (413)", "leave out what the reward does not need, or ask the registry's operator for more room"
	case code >= http.StatusInternalServerError:
		f.Kind, f.Retry, f.What, f.Hint = fault.Crashed, true, fmt.Sprintf("the registry has failed (%d), %d times", code, tries), "try again later; if it stays, tell its operator"
	default:
		f.Kind, f.What, f.Hint = fault.Refused, fmt.Sprintf("the registry refuses the request (%d)", code), "check that the address is that of an OCI registry that takes artifacts of any type"
	}
}

// unreached says why there is no answer.
func unreached(f *fault.Error, err error) {
	var (
		unverified *tls.CertificateVerificationError
		notTLS     tls.RecordHeaderError
		unknown    x509.UnknownAuthorityError
		dns        *net.DNSError
		network    net.Error
		op         *net.OpError
	)
	switch {
	case errors.As(err, &unverified), errors.As(err, &unknown):
		f.Kind, f.What, f.Hint = fault.Refused, "", "name a file with the certificate of its authority"
		f.Err = fmt.Errorf("%w: %w", ErrUntrusted, err)
	case errors.As(err, &notTLS), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		f.Kind, f.What, f.Hint = fault.Protocol, "", "check the address; if it is right, ask for plain HTTP"
		f.Err = ErrNoTLS
	case errors.As(err, &dns) && dns.IsNotFound:
		f.Kind, f.What, f.Hint = fault.Missing, "the registry's host does not exist", "check the name of the host"
	case errors.As(err, &network) && network.Timeout():
		f.Kind, f.Retry, f.What, f.Hint = fault.Timeout, true, "the registry does not answer", "check network and address, and try again"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		f.Kind, f.Retry, f.What, f.Hint = fault.Crashed, true, "the connection to the registry broke off", "try again; what was moved before is not moved twice"
	case errors.As(err, &op):
		f.Kind, f.Retry, f.What, f.Hint = fault.Missing, true, "the registry cannot be reached", "check that it runs, and its host and port"
	}
}

// foreign is the error of an artifact that is no reward, or no good one.
func (c *client) foreign(kind fault.Kind, what, hint string, err error) error {
	return &fault.Error{Boundary: fault.Registry, Kind: kind, Where: c.ref.String(), What: what, Hint: hint, Err: err}
}

// unpackable is the error of files that nobody would unpack, with every problem
// of them.
func unpackable(where string, err error) error {
	kind := fault.Refused
	if errors.Is(err, fault.Of("", fault.Exhausted)) {
		kind = fault.Exhausted
	}
	return &fault.Error{
		Boundary: fault.Registry, Kind: kind, Where: where, What: "the files cannot be unpacked safely", Err: err,
		Hint: "a reward has plain files with plain names, within the limits of a script; nothing was written",
	}
}
