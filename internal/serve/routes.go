package serve

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/httpd"
	"github.com/merit-rl/merit/internal/serve/tenant"
)

// route handles one method of one path.
type route struct {
	method, path string // path as a pattern of http.ServeMux
	// answer handles a request of a tenant. An error becomes a problem document, unless a part
	// of the response was already written.
	answer func(c *call) error
	// open handles a request without authentication, even while the server drains.
	open http.HandlerFunc
}

// routes lists all routes of the server.
func (s *Server) routes() []route {
	return append([]route{
		{method: "POST", path: "/v1/evaluate", answer: (*call).evaluate},
		{method: "POST", path: "/v1/advantages", answer: (*call).advantages},
		{method: "GET", path: "/v1/rewards", answer: (*call).list},
		{method: "PUT", path: "/v1/rewards/{ref}", answer: (*call).put},
		{method: "GET", path: "/v1/rewards/{ref}", answer: (*call).get},
		{method: "DELETE", path: "/v1/rewards/{ref}", answer: (*call).remove},
		{method: "GET", path: "/v1/rewards/{ref}/manifest", answer: (*call).manifest},
		{method: "GET", path: "/metrics", answer: s.metrics.answer},
		{method: "GET", path: "/openapi.json", open: describe},
		{method: "GET", path: "/healthz", open: s.healthy},
		{method: "GET", path: "/readyz", open: s.ready},
	}, s.peerRoutes()...)
}

// Routes returns every route of the server as "METHOD PATH", sorted, with paths as patterns of
// http.ServeMux.
func (s *Server) Routes() []string {
	var all []string
	for _, r := range s.routes() {
		all = append(all, r.method+" "+r.path)
	}
	slices.Sort(all)
	return all
}

// router returns one handler for all routes. It answers other requests with a problem document.
func (s *Server) router() http.Handler {
	paths := map[string]map[string]http.Handler{}
	for _, r := range s.routes() {
		if paths[r.path] == nil {
			paths[r.path] = map[string]http.Handler{}
		}
		paths[r.path][r.method] = s.handle(r)
	}
	mux := http.NewServeMux()
	for path, methods := range paths {
		allowed := strings.Join(slices.Sorted(maps.Keys(methods)), ", ")
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			method := r.Method
			if method == http.MethodHead {
				method = http.MethodGet
			}
			if h := methods[method]; h != nil {
				h.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Allow", allowed)
			fail(w, refuse(http.StatusMethodNotAllowed, r.URL.Path, r.Method+" is not allowed here", "use "+allowed))
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, refuse(http.StatusNotFound, r.URL.Path, "nothing exists at this path", "see GET /openapi.json for the paths"))
	})
	return s.logged(mux)
}

// logged logs each request at level debug after its response. It logs neither keys nor bodies.
func (s *Server) logged(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.Logger.Enabled(r.Context(), slog.LevelDebug) {
			began, a := time.Now(), &answered{ResponseWriter: w}
			defer func() {
				s.Logger.Debug("request", "method", r.Method, "path", r.URL.Path, "status", a.status, "bytes", a.bytes, "seconds", time.Since(began).Seconds(), "from", r.RemoteAddr)
			}()
			w = a
		}
		h.ServeHTTP(w, r)
	})
}

// handle wraps a route with tracing and metrics.
func (s *Server) handle(r route) http.Handler {
	h := http.Handler(r.open)
	if r.open == nil {
		h = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { s.serve(w, req, r.answer) })
		h = s.traced(r, h)
	}
	return s.metrics.measured(r, h)
}

// serve handles a request of a tenant.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, answer func(c *call) error) {
	w.Header().Set("Cache-Control", "no-store")
	if !s.begin() {
		w.Header().Set("Connection", "close")
		fail(w, refuse(http.StatusServiceUnavailable, "", "the server is shutting down", "retry; another server may take its place"))
		return
	}
	defer s.end()
	c := &call{Server: s, w: &answered{ResponseWriter: w}, r: r, control: http.NewResponseController(w)}
	defer c.close()
	err := c.admit()
	if err == nil {
		err = answer(c)
	}
	if err == nil {
		return
	}
	status := statusOf(err)
	c.refused(status)
	level := s.Logger.Debug
	if f := fault.As(err); r.Context().Err() == nil && (status == http.StatusInternalServerError || f != nil && f.Boundary == fault.Storage && f.Retry) {
		level = s.Logger.Error // a problem for the operator, such as a full disk, and the client is still connected
	}
	level("a request failed", "method", r.Method, "path", r.URL.Path, "tenant", c.name(), "status", status, "error", err)
	switch {
	case c.w.status == 0 && r.Context().Err() == nil:
		fail(c.w, err)
	case !c.told:
		httpd.Abort() // otherwise a partial response would look complete
	}
}

// admit authenticates the request and checks limits.
func (c *call) admit() error {
	key := c.r.Header.Get("X-Api-Key")
	if scheme, bearer, ok := strings.Cut(c.r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		key = strings.TrimSpace(bearer)
	}
	if _, password, ok := c.r.BasicAuth(); ok {
		key = password // for clients that cannot send a header but can have a key in the URL
	}
	t, err := c.Registry.Authenticate(key)
	switch c.who.Check(c.w, c.r, err == nil) {
	case http.StatusForbidden:
		return refuse(http.StatusForbidden, "Host", fmt.Sprintf("%q is not a name of this machine", c.r.Host),
			"use 127.0.0.1 or localhost; a server without keys refuses other names, because a web page could use one to reach it")
	case http.StatusTooManyRequests:
		return refuse(http.StatusTooManyRequests, "authorization", "this address has sent too many requests without a valid key", "use a key of this server, and retry in a second")
	case http.StatusUnauthorized:
		return &refusal{http.StatusUnauthorized, err}
	}
	c.tenant = t
	return c.enter()
}

// enter counts a request of the tenant and limits how many run at once, so that it does not
// keep others out.
func (c *call) enter() error {
	var busy *tenant.Busy
	err := c.tenant.Request()
	if errors.As(err, &busy) && busy.Flood {
		httpd.Linger(c.r)
	}
	if err != nil || len(c.Registry.Tenants()) == 1 {
		return err
	}
	leave, err := c.tenant.Enter(c.Limits.Requests)
	if err == nil {
		c.later(leave)
	}
	return err
}

// healthy answers the liveness probe.
func (s *Server) healthy(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") }

// ready answers the readiness probe.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	if s.Draining() {
		fail(w, &fault.Error{Boundary: fault.Server, Kind: fault.Interrupted, What: "the server is shutting down"})
		return
	}
	fmt.Fprintln(w, "ok")
}

// answered records the status and size of a response.
type answered struct {
	http.ResponseWriter
	status int // 0: not written yet
	bytes  int
}

func (a *answered) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answered) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	n, err := a.ResponseWriter.Write(p)
	a.bytes += n
	return n, err
}

// code returns the status for metrics. It is 499 if the client left before the response began.
func (a *answered) code() int { return cmp.Or(a.status, 499) }

// Unwrap supports http.ResponseController.
func (a *answered) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// memoryWait is how long a request waits for memory that other requests hold.
const memoryWait = 10 * time.Second
