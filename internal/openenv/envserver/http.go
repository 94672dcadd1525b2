package envserver

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/httpd"
	"github.com/merit-rl/merit/internal/openenv/shape"
)

// routes returns the routes of the openenv package's server in simulation mode, except
// tasks, and of MCP.
func (s *Server) routes() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /ws", s.guarded(s.socket))
	m.HandleFunc("GET /health", s.health)
	m.HandleFunc("GET /metadata", s.guarded(s.metadata))
	m.HandleFunc("GET /schema", s.guarded(func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, s.schema) }))
	m.HandleFunc("GET /state", s.guarded(s.once(func(p *player, _ *http.Request, _ json.RawMessage) (any, error) { return p.state(), nil })))
	m.HandleFunc("POST /reset", s.guarded(s.once(func(p *player, r *http.Request, body json.RawMessage) (any, error) {
		return p.reset(r.Context(), body)
	})))
	m.HandleFunc("POST /step", s.guarded(s.once(stepOnce)))
	m.HandleFunc("POST /mcp", s.guarded(s.mcp))
	m.HandleFunc("DELETE /mcp", s.guarded(s.forget))
	return s.local(http.NewCrossOriginProtection().Handler(m))
}

// local rejects requests from web pages if the server requires no key and listens on
// this machine only: a page whose host name was rebound to 127.0.0.1 sends its own host
// name.
func (s *Server) local(next http.Handler) http.Handler {
	if s.key != "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.who.Check(w, r, true) != 0 {
			reply(w, http.StatusForbidden, detail{"a server without a key accepts requests only for localhost or its IP address"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// guarded admits only requests with the key.
func (s *Server) guarded(next http.HandlerFunc) http.HandlerFunc {
	if s.key == "" {
		return next
	}
	return func(w http.ResponseWriter, r *http.Request) {
		switch s.who.Check(w, r, s.who.Right(httpd.Bearer(r.Header))) {
		case http.StatusTooManyRequests:
			reply(w, http.StatusTooManyRequests, detail{"this address has sent too many wrong keys: use the server's key, and retry in a second"})
		case http.StatusUnauthorized:
			w.Header().Set("WWW-Authenticate", "Bearer")
			reply(w, http.StatusUnauthorized, detail{"send the server's key: Authorization: Bearer KEY"})
		default:
			next(w, r)
		}
	}
}

// detail is the form of errors over HTTP of the openenv package's server.
type detail struct {
	Detail any `json:"detail"`
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	_ = e.Encode(body) // an error means that the client has disconnected
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	down, all := s.pool.Down()
	switch {
	case s.stopping.Err() != nil || down == all:
		reply(w, http.StatusServiceUnavailable, shape.Health{Status: "unhealthy"})
	case down > 0:
		reply(w, http.StatusOK, shape.Health{Status: "degraded"})
	default:
		reply(w, http.StatusOK, shape.Health{Status: "healthy"})
	}
}

func (s *Server) metadata(w http.ResponseWriter, _ *http.Request) {
	description := s.spec.System
	if description == "" {
		description = s.about.Summary
	}
	reply(w, http.StatusOK, shape.Metadata{Name: s.spec.Name, Version: &s.spec.Version, Description: description})
}

// once answers a request over HTTP with a new environment that exists only for this
// request, like the openenv package's server.
func (s *Server) once(do func(*player, *http.Request, json.RawMessage) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.config.MaxMessage))
		if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
			reply(w, http.StatusRequestEntityTooLarge, detail{"the body is too large"})
			return
		}
		if err != nil {
			reply(w, http.StatusRequestTimeout, detail{"the body did not arrive within " + patience.String()})
			return
		}
		var object map[string]json.RawMessage
		if len(body) > 0 && shape.DecodeBody(body, &object) != nil {
			reply(w, http.StatusUnprocessableEntity, detail{"the body is not a JSON object"})
			return
		}
		session, err := s.pool.Open()
		if err != nil {
			f := s.failure(err)
			reply(w, http.StatusServiceUnavailable, detail{f.Message})
			return
		}
		defer session.Close()
		result, err := do(&player{server: s, session: session}, r, body)
		if err == nil {
			reply(w, http.StatusOK, result)
			return
		}
		f := s.failure(err)
		switch {
		case f.Code == shape.ValidationError && len(f.Errors) > 0:
			reply(w, http.StatusUnprocessableEntity, detail{f.Errors})
		case f.Code == shape.ValidationError:
			reply(w, http.StatusUnprocessableEntity, detail{f.Message})
		default:
			reply(w, http.StatusInternalServerError, detail{f.Message})
		}
	}
}

// stepOnce plays the first step of the episode with the seed in the body, because an
// environment of Merit requires a reset before a step.
func stepOnce(p *player, r *http.Request, body json.RawMessage) (any, error) {
	var said struct {
		Action json.RawMessage `json:"action"`
	}
	if err := strictjson.Unmarshal(body, &said); err != nil || said.Action == nil {
		return nil, invalid("action", "the body has no action")
	}
	if _, err := p.reset(r.Context(), body); err != nil {
		return nil, err
	}
	return p.step(r.Context(), said.Action)
}
