package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/merit-rl/merit/internal/traces/proxy/anthropic"
	"github.com/merit-rl/merit/internal/traces/proxy/dialect"
	"github.com/merit-rl/merit/internal/traces/proxy/openai"
)

// Proxy is the handler. Create it with New, and call Close after the last request.
type Proxy struct {
	options Options
	add     map[string]json.RawMessage
	forward *httputil.ReverseProxy
	roots   roots
	*recorder
}

// New starts a proxy. It returns an error if the options are invalid.
func New(o Options) (*Proxy, error) {
	o, add, err := o.complete()
	if err != nil {
		return nil, err
	}
	p := &Proxy{options: o, add: add, recorder: newRecorder(o)}
	p.forward = &httputil.ReverseProxy{
		Rewrite:        p.rewrite,
		Transport:      o.Transport,
		FlushInterval:  -1, // flush every chunk
		ModifyResponse: p.answered,
		ErrorHandler:   p.unreachable,
		BufferPool:     &buffers{},
		ErrorLog:       log.New(io.Discard, "", 0), // problems are recorded with the call
	}
	return p, nil
}

type calls struct{} // key in a request's context

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secrets := secretsOf(r, p.options.Key)
	whose, harness, path := p.whose(r, secrets)
	api := apiOf(r.Method, path)
	out := r.Clone(r.Context())
	out.URL.Path, out.URL.RawPath = path, ""
	if api != nil {
		c := &call{api: api, whose: whose, harness: harness, span: newID(8), start: time.Now(), memory: &p.held, budget: p.options.Memory, most: p.options.Body}
		c.scope, c.secrets = scopeOf(r, whose.agent), secrets
		if err := p.read(out, c); err != nil {
			c.release()
			Fail(w, out, http.StatusBadRequest, "unreadable_request", "merit traces proxy cannot read the request: "+err.Error())
			return
		}
		w.Header().Set("X-Merit-Span", c.span)
		if whose.trace != "" {
			w.Header().Set("X-Merit-Trace", whose.trace)
		}
		out = out.WithContext(context.WithValue(out.Context(), calls{}, c))
		defer p.end(c, "the agent disconnected before the answer was complete") // unless it has ended
	} else {
		p.passed.Add(1)
	}
	p.forward.ServeHTTP(w, out)
}

// apis are the calls that are recorded.
var apis = append(openai.APIs(), anthropic.API())

// apiOf returns the API of a call, or nil if its calls are not recorded.
func apiOf(method, path string) *dialect.API {
	if method != http.MethodPost {
		return nil
	}
	path = strings.TrimSuffix(path, "/")
	if strings.Contains(path, "/threads/") {
		return nil // threads of OpenAI's Assistants have messages, too, which are not calls of a model
	}
	i := slices.IndexFunc(apis, func(api dialect.API) bool { return strings.HasSuffix(path, "/"+api.Path) })
	if i < 0 {
		return nil
	}
	return &apis[i]
}

// read buffers the request's body before it is forwarded, so that it can be resent
// after a stale connection. A body beyond the limit is forwarded but not recorded
// whole.
func (p *Proxy) read(r *http.Request, c *call) error {
	var b bytes.Buffer
	if r.ContentLength > 0 {
		b.Grow(int(min(r.ContentLength, c.most)) + bytes.MinRead) // read without reallocation
	}
	if _, err := b.ReadFrom(io.LimitReader(r.Body, c.most+1)); err != nil {
		return err
	}
	head := b.Bytes()
	plain := head
	if encoding := r.Header.Get("Content-Encoding"); packed(encoding) {
		if plain = unpacked(head, encoding, c.most+1); plain == nil {
			plain = head // the upstream will say what is wrong
		} else if len(p.add) > 0 && int64(max(len(plain), len(head))) <= c.most {
			head = plain // to add fields to it
			r.Header.Del("Content-Encoding")
		}
	}
	c.keepRequest(plain)
	if int64(b.Len()) > c.most {
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(head), r.Body))
		return nil
	}
	if len(p.add) > 0 && r.Header.Get("Content-Encoding") == "" {
		head = dialect.Added(head, p.add)
	}
	r.ContentLength, r.TransferEncoding = int64(len(head)), nil
	r.Body = io.NopCloser(bytes.NewReader(head))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(head)), nil }
	return nil
}

func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	to := p.options.Upstream
	r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = to.Scheme, to.Host, to.Host
	r.Out.URL.Path, r.Out.URL.RawPath = joined(to, r.Out.URL.Path), ""
	for name := range r.Out.Header {
		if strings.HasPrefix(name, "X-Merit-") {
			r.Out.Header.Del(name)
		}
	}
	switch key := p.options.Key; {
	case key == "":
	case anthropic.Speaks(r.In):
		anthropic.Authorize(r.Out.Header, key)
	default:
		r.Out.Header.Set("Authorization", "Bearer "+key)
	}
	if r.Out.Context().Value(calls{}) != nil {
		r.Out.Header.Set("Accept-Encoding", "identity") // so that the proxy can read it
	}
}

// joined appends a request's path to the upstream's. Either or both may contain the
// version.
func joined(to *url.URL, path string) string {
	base := strings.TrimSuffix(to.Path, "/")
	if strings.HasSuffix(base, "/v1") && (path == "/v1" || strings.HasPrefix(path, "/v1/")) {
		path = strings.TrimPrefix(path, "/v1")
	}
	return base + path
}

// answered wraps the answer's body in a recorder.
func (p *Proxy) answered(r *http.Response) error {
	c, ok := r.Request.Context().Value(calls{}).(*call)
	if !ok {
		return nil
	}
	c.status, c.encoding = r.StatusCode, r.Header.Get("Content-Encoding")
	c.stream = strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream")
	r.Body = &capture{ReadCloser: r.Body, call: c, end: p.end}
	if r.ContentLength == 0 { // the answer is complete, and nobody reads the body to its end
		p.end(c, "")
	}
	return nil
}

// unreachable answers when the upstream did not answer.
func (p *Proxy) unreachable(w http.ResponseWriter, r *http.Request, err error) {
	if c, ok := r.Context().Value(calls{}).(*call); ok && r.Context().Err() == nil {
		c.status = http.StatusBadGateway
		p.end(c, "the upstream did not answer: "+err.Error())
	}
	if !errors.Is(err, context.Canceled) {
		p.options.Log.Warn("the upstream did not answer", slog.String("cause", err.Error()))
	}
	Fail(w, r, http.StatusBadGateway, "upstream_unreachable", "merit traces proxy: "+p.options.Upstream.Host+" did not answer: "+err.Error())
}

// Fail answers a request with an error of the proxy, in the form of its API.
func Fail(w http.ResponseWriter, r *http.Request, status int, code, message string) {
	type said struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Code    string `json:"code"`
	}
	text, _ := json.Marshal(map[string]said{"error": {message, "merit_proxy", code}}) // strings: encoding cannot fail
	if anthropic.Speaks(r) {
		text = anthropic.Error(status, message)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n'))
}
