package registry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/httpd"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/retry"
)

// client is a connection to one repository.
type client struct {
	Options
	ref  registry.Reference
	repo *remote.Repository
	base *http.Transport
	sent *sending
}

func (o Options) client(reference string) (*client, error) {
	ref, err := parse(reference)
	if err != nil {
		return nil, err
	}
	o = o.withDefaults()
	c := &client{Options: o, ref: ref, base: http.DefaultTransport.(*http.Transport).Clone()}
	if err := c.trust(); err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: o.Stall}
	c.base.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &lively{conn, o.Stall}, nil
	}
	lookup, err := o.credentials(ref.Registry)
	if err != nil {
		return nil, err
	}
	c.sent = &sending{base: c.base, progress: o.Progress}
	c.repo = &remote.Repository{
		Reference: ref, PlainHTTP: o.plain(ref.Host()), MaxMetadataBytes: mostManifest,
		Client: &auth.Client{
			Client:     &http.Client{Transport: &retry.Transport{Base: c.sent, Policy: func() retry.Policy { return patience }}},
			Header:     http.Header{"User-Agent": {"merit"}},
			Cache:      auth.NewCache(),
			Credential: lookup,
		},
	}
	return c, nil
}

func (c *client) close() {
	c.sent.stop()
	c.base.CloseIdleConnections()
}

// patience retries three times after a network error or an error of an overloaded
// registry.
var patience retry.Policy = &retry.GenericPolicy{
	Retryable: retry.DefaultPredicate, Backoff: retry.DefaultBackoff, MinWait: 200 * time.Millisecond, MaxWait: 3 * time.Second, MaxRetry: tries - 1,
}

const tries = 4

// plain reports whether the client uses HTTP for host.
func (o Options) plain(host string) bool {
	if o.Scheme != "" || o.CAFile != "" {
		return o.Scheme == "http"
	}
	return httpd.Loopback(host)
}

// trust adds the certificates of CAFile.
func (c *client) trust() error {
	if c.CAFile == "" {
		return nil
	}
	text, err := os.ReadFile(c.CAFile)
	pool, none := x509.SystemCertPool()
	if none != nil {
		pool = x509.NewCertPool()
	}
	if err == nil && !pool.AppendCertsFromPEM(text) {
		err = errors.New("it contains no PEM certificate")
	}
	if err != nil {
		return &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: c.CAFile, What: "cannot read the certificates of the authorities", Err: err, Hint: "use a file of certificates in PEM"}
	}
	c.base.TLSClientConfig = &tls.Config{RootCAs: pool}
	return nil
}

// credentials returns the credentials for host.
func (o Options) credentials(host string) (auth.CredentialFunc, error) {
	if o.Username != "" {
		return auth.StaticCredential(host, auth.Credential{Username: o.Username, Password: o.Password}), nil
	}
	store, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	if err != nil {
		return nil, unreadableCredentials(err)
	}
	find := credentials.Credential(store)
	return func(ctx context.Context, host string) (auth.Credential, error) {
		found, err := find(ctx, host)
		if err != nil {
			err = unreadableCredentials(err)
		}
		return found, err
	}, nil
}

func unreadableCredentials(err error) error {
	return &fault.Error{
		Boundary: fault.Config, Kind: fault.Invalid, Where: "Docker's configuration", What: "cannot provide credentials", Err: err,
		Hint: "correct ~/.docker/config.json (or $DOCKER_CONFIG/config.json) and its helper, or pass a user name and password",
	}
}
