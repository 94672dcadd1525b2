package chat

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/merit-rl/merit/core/fault"
)

// answer is the response to one attempt.
type answer struct {
	status     int
	retryAfter string // the Retry-After header
	body       []byte
}

// newHTTP returns the HTTP client: it keeps a connection for each concurrent request, uses the
// proxies of the environment, verifies certificates and does not follow redirects.
func newHTTP(concurrent int) *http.Client {
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout:    10 * time.Second,
			ForceAttemptHTTP2:      true,
			MaxIdleConns:           concurrent,
			MaxIdleConnsPerHost:    concurrent,
			MaxConnsPerHost:        concurrent,
			IdleConnTimeout:        90 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
		},
	}
}

// exchange sends one request and reads the whole response, within the limits of time and size.
// A nil body sends a GET.
func (c *Client) exchange(ctx context.Context, path string, body []byte) (*answer, *fault.Error) {
	limited, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	method, content := http.MethodGet, io.Reader(nil)
	if body != nil {
		method, content = http.MethodPost, bytes.NewReader(body)
	}
	request, err := http.NewRequestWithContext(limited, method, c.config.URL+path, content)
	if err != nil {
		return nil, c.fault(fault.Invalid, "correct url", "cannot create the request: %v", err)
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "merit")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.key != "" {
		request.Header.Set("Authorization", "Bearer "+c.key)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, c.broken(ctx, limited, err, "no answer came")
	}
	defer response.Body.Close()
	a := &answer{status: response.StatusCode, retryAfter: response.Header.Get("Retry-After")}
	a.body, err = io.ReadAll(io.LimitReader(response.Body, int64(c.config.MaxResponse)+1))
	switch {
	case len(a.body) > c.config.MaxResponse:
		return a, c.fault(fault.Refused, "raise max_response if such long answers are expected", "the answer is longer than %d bytes and was cut off", c.config.MaxResponse)
	case err != nil:
		return nil, c.broken(ctx, limited, err, "the answer did not finish")
	}
	const secret = 16         // shorter keys are placeholders, such as EMPTY, and may occur in answers
	if len(c.key) >= secret { // a server may echo the key, and bodies reach logs and cassettes
		a.body = bytes.ReplaceAll(a.body, []byte(c.key), []byte("***"))
	}
	return a, nil
}

// broken returns the error of an exchange that failed. It checks the contexts first, because a
// context that is done breaks connections in any way.
func (c *Client) broken(ctx, limited context.Context, err error, doing string) *fault.Error {
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err // without the address, which is already in where
	}
	var certificate *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var name *net.DNSError
	var f *fault.Error
	switch {
	case ctx.Err() != nil:
		return c.ended(ctx, doing)
	case limited.Err() != nil:
		f = c.again(fault.Timeout, "raise timeout, request fewer tokens, or lower max_concurrent", "%s within %v", doing, c.config.Timeout)
	case errors.As(err, &certificate), errors.As(err, &unknown):
		f = c.fault(fault.Refused, "use a server certificate that this machine trusts", "the server's certificate cannot be verified")
	case errors.Is(err, http.ErrSchemeMismatch):
		f = c.fault(fault.Invalid, "use http:// instead of https:// in url", "the server does not speak TLS")
	case errors.As(err, &name) && name.IsNotFound:
		f = c.fault(fault.Missing, "correct url", "the host name cannot be resolved")
	case errors.Is(err, io.ErrUnexpectedEOF):
		f = c.again(fault.Protocol, "check the server's log", "%s", doing)
	default:
		f = c.again(fault.Crashed, "check that the server is running and that url is correct", "%s", doing)
	}
	f.Err = errors.New(plain(err.Error(), 200))
	return f
}

// ended returns the error of a caller that canceled or whose deadline passed.
func (c *Client) ended(ctx context.Context, doing string) *fault.Error {
	f := c.fault(fault.Interrupted, "", "stopped: %s", doing)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		f = c.again(fault.Timeout, "raise the deadline, or use a faster model", "the deadline passed: %s", doing)
	}
	f.Err = ctx.Err()
	return f
}
