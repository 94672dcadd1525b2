// Package proxying assembles a proxy that records: a listener, the calls of
// models that pass through it, the rules that blank secrets, and the store of
// traces.
package proxying

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/httpd"
	"github.com/merit-rl/merit/internal/httpd/certificates"
	"github.com/merit-rl/merit/internal/traces/collecting"
)

// Config is a proxy.
type Config struct {
	Upstream string // the model server's base, such as http://127.0.0.1:8080/v1
	// UpstreamKeyEnv is the environment variable with the upstream's key; empty passes
	// on the agents' own.
	UpstreamKeyEnv string
	Listen         string             // HOST:PORT; others than this machine reach it only with a key
	Store          string             // as traces.Open has it; empty is that of Collect
	Agent          string             // of calls that name none
	Task           string             // of calls that name none
	Add            string             // a JSON object: fields for requests that do not have them
	KeyFile        string             // file whose first line is the key that agents send as X-Merit-Key
	Drain          time.Duration      // how long the end may take
	TLS            certificates.Files // without them the proxy speaks in the clear
	// Collect says what stands around the store: redaction, retention, rewards at
	// once. Its addresses and key are not used. Nil is collecting.DefaultConfig.
	Collect *collecting.Config
}

// DefaultConfig is a proxy on this machine, but for its upstream.
func DefaultConfig() Config {
	return Config{Listen: "127.0.0.1:8710", Drain: 30 * time.Second}
}

// resolved is a configuration whose words are values.
type resolved struct {
	upstream     *url.URL
	upstreamKey  string
	key          string // that agents send
	collect      *collecting.Config
	listensLocal bool
}

// resolve checks everything, and reports all that is wrong at once.
func (c Config) resolve(getenv func(string) string) (r resolved, err error) {
	var p fault.Problems
	if r.upstream, err = url.Parse(c.Upstream); err != nil || r.upstream.Host == "" || r.upstream.Scheme != "http" && r.upstream.Scheme != "https" {
		p.Invalid("upstream", fmt.Sprintf("%q is not the address of a server", c.Upstream), "give the base of its API, such as --upstream http://127.0.0.1:8080/v1")
	}
	if r.upstream != nil && r.upstream.User != nil {
		p.Invalid("upstream", "has a name or password in it", "put the key into an environment variable, and name that with --upstream-key-env")
	}
	var add map[string]json.RawMessage
	if c.Add != "" && strictjson.Unmarshal([]byte(c.Add), &add) != nil {
		p.Invalid("add", "is not a JSON object", `give fields of a request, such as --add '{"logprobs": true}'`)
	}
	if c.UpstreamKeyEnv != "" {
		if r.upstreamKey = getenv(c.UpstreamKeyEnv); r.upstreamKey == "" {
			p.Missing("upstream-key-env", "the environment variable "+c.UpstreamKeyEnv+" is not set", "set it to the key of the upstream")
		}
	}
	if c.KeyFile != "" {
		if r.key, err = httpd.ReadKey(c.KeyFile); err != nil {
			p = append(p, err)
		}
	}
	r.listensLocal = httpd.Loopback(c.Listen)
	httpd.CheckListen(&p, "--listen", c.Listen, c.KeyFile != "", "--key-file", "use the upstream and write traces")
	p = append(p, c.TLS.Problems("tls")...)
	r.collect = c.Collect
	if r.collect == nil {
		r.collect = collecting.DefaultConfig()
	}
	if c.Store != "" {
		with := *r.collect
		with.Store, r.collect = c.Store, &with
	}
	p.Check(c.Drain >= time.Millisecond, "drain", c.Drain, "write a duration such as 30s")
	return r, errors.Join(p...)
}
