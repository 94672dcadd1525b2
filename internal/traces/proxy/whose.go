package proxy

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/traces/proxy/lineage"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// Headers by which an agent identifies a call. The proxy does not forward them.
const (
	HeaderTrace    = "X-Merit-Trace"    // the trace's id
	HeaderAgent    = "X-Merit-Agent"    // the agent's name
	HeaderTask     = "X-Merit-Task"     // the trace's task
	HeaderParent   = "X-Merit-Parent"   // the span that encloses the call
	HeaderMetadata = "X-Merit-Metadata" // a JSON object: the trace's metadata, such as ground_truth
)

// whose identifies a call. Empty fields were not given.
type whose struct {
	trace, parent, agent, task string
	metadata                   map[string]json.RawMessage
	wrong                      string // problem of the given values
}

// whose reads headers, then the path (/t/TRACE/a/AGENT/task/TASK/v1/…, where each pair
// is optional), then the session of a harness, then W3C's traceparent. It returns the identity, with secrets
// redacted, and the path without these pairs.
func (p *Proxy) whose(r *http.Request, secrets []string) (whose, harness, string) {
	said, path := pairs(r.URL)
	blank := func(text string) string {
		for _, secret := range secrets {
			text = strings.ReplaceAll(text, secret, "[key]")
		}
		return text
	}
	header := func(name string) string { return blank(r.Header.Get(name)) }
	w := whose{
		trace:  cmp.Or(header(HeaderTrace), blank(said["t"])),
		agent:  cmp.Or(header(HeaderAgent), blank(said["a"]), p.options.Agent),
		task:   cmp.Or(header(HeaderTask), blank(said["task"]), p.options.Task),
		parent: header(HeaderParent),
	}
	h := harnessOf(header)
	if w.trace == "" {
		w.trace = p.roots.trace(h)
	}
	if m := traceparent.FindStringSubmatch(r.Header.Get("Traceparent")); m != nil && (w.trace == "" || w.trace == m[1]) {
		w.trace, w.parent = m[1], cmp.Or(w.parent, m[2])
	}
	w.trace, w.parent = identifier(w.trace), identifier(w.parent)
	w.agent, w.task = trace.Cut(w.agent, trace.MaxName), trace.Cut(w.task, trace.MaxName)
	if text := header(HeaderMetadata); text != "" {
		if err := strictjson.Unmarshal([]byte(text), &w.metadata); err != nil || len(w.metadata) > trace.MaxAttributes {
			w.metadata, w.wrong = nil, HeaderMetadata+" is not a JSON object of at most 256 entries"
		}
	}
	return w, h, path
}

var traceparent = regexp.MustCompile(`^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}`)

// pairs removes /t/…, /a/… and /task/… from the front of a path.
func pairs(u *url.URL) (said map[string]string, path string) {
	said, rest := map[string]string{}, u.EscapedPath()
	for {
		parts := strings.SplitN(strings.TrimPrefix(rest, "/"), "/", 3)
		if len(parts) < 3 || parts[0] != "t" && parts[0] != "a" && parts[0] != "task" {
			break
		}
		value, err := url.PathUnescape(parts[1])
		if err != nil {
			break
		}
		said[parts[0]], rest = value, "/"+parts[2]
	}
	if path, err := url.PathUnescape(rest); err == nil {
		return said, path
	}
	return said, rest
}

var notInID = regexp.MustCompile(`[^A-Za-z0-9._:-]+`)

// identifier converts text to an id of spans and traces. It replaces invalid
// characters, and adds a digest to keep different texts apart: rejecting the text
// would fail the agent's call.
func identifier(text string) string {
	if len(text) <= trace.MaxID && !notInID.MatchString(text) {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return trace.Cut(notInID.ReplaceAllString(text, "-"), trace.MaxID-17) + "-" + hex.EncodeToString(sum[:8])
}

// newID returns a random id of n bytes, in hexadecimal.
func newID(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// scopeOf returns a key that separates the conversations of different agents and API
// keys. It is never stored.
func scopeOf(r *http.Request, agent string) lineage.Key {
	sum := sha256.Sum256([]byte(agent + "\x00" + r.Header.Get("Authorization") + "\x00" + r.Header.Get("X-Api-Key")))
	return lineage.Key(sum[:16])
}

// secretsOf returns the credentials of a request. Shorter values are placeholders for
// servers that require no key.
func secretsOf(r *http.Request, key string) (secrets []string) {
	const least = 16
	bearer := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	for _, s := range []string{key, bearer, r.Header.Get("Api-Key"), r.Header.Get("X-Api-Key")} {
		if len(s) >= least {
			secrets = append(secrets, s)
		}
	}
	return secrets
}
