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

// Errors that a caller can handle. The *fault.Error of each wraps it.
var (
	ErrUnauthorized = errors.New("the registry rejected the credentials (401)")
	ErrUntrusted    = errors.New("the registry's certificate is not trusted")
	ErrNoTLS        = errors.New("the registry does not use TLS")
	ErrExists       = errors.New("already exists")
)

// explain converts an error between this machine and a registry to a *fault.Error, or
// returns the cause of ctx if ctx is done.
func (c *client) explain(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	if f := fault.As(err); f != nil {
		return f // such as an error of the credentials, without the request around it
	}
	f := &fault.Error{Boundary: fault.Registry, Kind: fault.Protocol, Where: c.ref.String(), What: "the registry's answer is invalid", Err: err,
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
		f.Kind, f.What, f.Hint = fault.Corrupt, "the content in the registry does not match its digest", "push the reward again, and do not use this artifact: it was changed or damaged after it was pushed"
	default:
		unreached(f, err)
	}
	return f
}

// refused explains an answer with an error status.
func refused(f *fault.Error, answer *errcode.ErrorResponse) {
	f.Err = nil
	if len(answer.Errors) > 0 {
		f.Err = errors.New(archive.Quote(answer.Errors.Error()))
	}
	if answer.StatusCode == http.StatusUnauthorized {
		f.Kind, f.What, f.Err = fault.Refused, "", ErrUnauthorized
		f.Hint = "log in with docker login or another client that writes ~/.docker/config.json, or pass a user name and password"
		return
	}
	switch code := answer.StatusCode; {
	case code == http.StatusForbidden:
		f.Kind, f.What, f.Hint = fault.Refused, "the registry denied access (403)", "ask the registry's operator for access to this repository, or use another account"
	case code == http.StatusNotFound:
		f.Kind, f.What, f.Hint = fault.Missing, "the registry does not have it (404)", "check the repository and tag; a private repository may require a login"
	case code == http.StatusTooManyRequests:
		f.Kind, f.Retry, f.What, f.Hint = fault.Exhausted, true, "the registry has reached a rate limit (429)", "wait, or log in: many registries have higher limits for accounts"
	case code == http.StatusRequestEntityTooLarge:
		f.Kind, f.What, f.Hint = fault.Exhausted, "the artifact is too large for the registry (413)", "remove files that the reward does not need, or ask the registry's operator for a higher limit"
	case code >= http.StatusInternalServerError:
		f.Kind, f.Retry, f.What, f.Hint = fault.Crashed, true, fmt.Sprintf("the registry failed with status %d, %d times", code, tries), "retry later; if the error persists, report it to the registry's operator"
	default:
		f.Kind, f.What, f.Hint = fault.Refused, fmt.Sprintf("the registry rejected the request (%d)", code), "check that the address is that of an OCI registry that accepts artifacts of any type"
	}
}

// unreached explains why there is no answer.
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
		f.Kind, f.What, f.Hint = fault.Refused, "", "pass a file with the certificate of its authority"
		f.Err = fmt.Errorf("%w: %w", ErrUntrusted, err)
	case errors.As(err, &notTLS), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		f.Kind, f.What, f.Hint = fault.Protocol, "", "check the address; if it is right, use plain HTTP"
		f.Err = ErrNoTLS
	case errors.As(err, &dns) && dns.IsNotFound:
		f.Kind, f.What, f.Hint = fault.Missing, "the registry's host does not exist", "check the host name"
	case errors.As(err, &network) && network.Timeout():
		f.Kind, f.Retry, f.What, f.Hint = fault.Timeout, true, "the registry does not answer", "check the network and the address, and retry"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		f.Kind, f.Retry, f.What, f.Hint = fault.Crashed, true, "the connection to the registry was lost", "retry; completed transfers are not repeated"
	case errors.As(err, &op):
		f.Kind, f.Retry, f.What, f.Hint = fault.Missing, true, "the registry cannot be reached", "check that it is running, and its host and port"
	}
}

// foreign returns the error of an artifact that is not a valid reward.
func (c *client) foreign(kind fault.Kind, what, hint string, err error) error {
	return &fault.Error{Boundary: fault.Registry, Kind: kind, Where: c.ref.String(), What: what, Hint: hint, Err: err}
}

// unpackable returns the error of files that cannot be unpacked safely, with every
// problem.
func unpackable(where string, err error) error {
	kind := fault.Refused
	if errors.Is(err, fault.Of("", fault.Exhausted)) {
		kind = fault.Exhausted
	}
	return &fault.Error{
		Boundary: fault.Registry, Kind: kind, Where: where, What: "the files cannot be unpacked safely", Err: err,
		Hint: "use only regular files with plain names, within the limits of a script; nothing was written",
	}
}
