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

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/httpd"
	"github.com/merit-rl/merit/internal/serve/tenant"
)

// route is what answers one method of one path.
type route struct {
	method, path string // path as a pattern of http.ServeMux
	// answer answers a request of a tenant. An error becomes a problem, unless
	// something was written already.
	answer func(c *call) error
	// open answers a request of anybody, even while the server drains.
	open http.HandlerFunc
}

// routes lists every path of the server.
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

// Routes names every path of the server with its method, in order, as
// http.ServeMux has them.
func (s *Server) Routes() []string {
	var all []string
	for _, r := range s.routes() {
		all = append(all, r.method+" "+r.path)
	}
	slices.Sort(all)
	return all
}

// router makes one handler of all routes. What no route takes is a problem, too.
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
			fail(w, refuse(http.StatusMethodNotAllowed, r.URL.Path, r.Method+" is not answered here", "use "+allowed))
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, refuse(http.StatusNotFound, r.URL.Path, "there is nothing at this path", "GET /openapi.json lists the paths"))
	})
	return s.logged(mux)
}

// logged writes each request to the log at debug, when it was answered. Neither keys
// nor bodies are in it.
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

// handle is what every request passes through.
func (s *Server) handle(r route) http.Handler {
	h := http.Handler(r.open)
	if r.open == nil {
		h = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { s.serve(w, req, r.answer) })
		h = otelhttp.NewHandler(h, r.method+" "+r.path, otelhttp.WithTracerProvider(s.Tracer), otelhttp.WithServerName("merit"))
	}
	return s.metrics.measured(r, h)
}

// serve answers a request of a tenant.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, answer func(c *call) error) {
	w.Header().Set("Cache-Control", "no-store")
	if !s.begin() {
		w.Header().Set("Connection", "close")
		fail(w, refuse(http.StatusServiceUnavailable, "", "the server ends", "ask again, of the server that takes its place"))
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
		level = s.Logger.Error // it is the operator's, such as a disk that is full, and nobody has left
	}
	level("a request failed", "method", r.Method, "path", r.URL.Path, "tenant", c.name(), "status", status, "error", err)
	switch {
	case c.w.status == 0 && r.Context().Err() == nil:
		fail(c.w, err)
	case !c.told:
		httpd.Abort() // or what was sent, or nothing, would look like a whole answer
	}
}

// admit finds out who asks, and lets them in or not.
func (c *call) admit() error {
	key := c.r.Header.Get("X-Api-Key")
	if scheme, bearer, ok := strings.Cut(c.r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		key = strings.TrimSpace(bearer)
	}
	if _, password, ok := c.r.BasicAuth(); ok {
		key = password // of clients that send no header but can have a key in the URL
	}
	t, err := c.Registry.Authenticate(key)
	switch c.who.Check(c.w, c.r, err == nil) {
	case http.StatusForbidden:
		return refuse(http.StatusForbidden, "Host", fmt.Sprintf("%q is not this machine", c.r.Host),
			"ask 127.0.0.1 or localhost: without keys, no page in a browser may come here under a name of its own")
	case http.StatusTooManyRequests:
		return refuse(http.StatusTooManyRequests, "authorization", "this address has sent too many requests without a key that is known", "use a key of this server, and ask again in a second")
	case http.StatusUnauthorized:
		return &refusal{http.StatusUnauthorized, err}
	}
	c.tenant = t
	return c.enter()
}

// enter counts a request of the tenant, which must not keep others out.
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

// healthy says that the process runs.
func (s *Server) healthy(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") }

// ready says whether requests are answered.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	if s.Draining() {
		fail(w, &fault.Error{Boundary: fault.Server, Kind: fault.Interrupted, What: "the server ends"})
		return
	}
	fmt.Fprintln(w, "ok")
}

// answered notes what was answered.
type answered struct {
	http.ResponseWriter
	status int // 0: nothing yet
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

// code is the status for metrics: 499 if the client left before there was one.
func (a *answered) code() int { return cmp.Or(a.status, 499) }

// Unwrap is for http.ResponseController.
func (a *answered) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// memoryWait is how long a request waits for memory that others hold.
const memoryWait = 10 * time.Second
