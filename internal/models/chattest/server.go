// Package chattest provides servers for tests of clients of language models: one that follows
// a script (latencies, faults, counts), and llama.cpp's server with a real small model.
package chattest

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/merit-rl/merit/internal/base/strictjson"
)

// Call is a request as received by the server.
type Call struct {
	Number int // 0, 1, 2 … in order of arrival
	Method string
	Path   string
	Header http.Header
	Body   []byte
}

// Field decodes one key of the request's JSON.
func (c Call) Field(t testing.TB, key string, into any) {
	t.Helper()
	var all map[string]json.RawMessage
	if err := strictjson.Unmarshal(c.Body, &all); err != nil {
		t.Fatalf("request %d is not JSON: %v", c.Number, err)
	}
	if err := strictjson.Unmarshal(all[key], into); err != nil {
		t.Fatalf("request %d, %s: %v", c.Number, key, err)
	}
}

// Reply is what the server does with one request.
type Reply struct {
	Status  int // 0 = 200
	Header  map[string]string
	Body    string
	Latency time.Duration   // before the answer, while the request occupies a slot
	Until   <-chan struct{} // also waits for this to close, or for the client to go away
	Cut     bool            // the body stops before its announced end
	Endless bool            // the body is repeated forever
	Hang    bool            // after the body, the response neither ends nor continues
	Drop    bool            // the connection is closed without an answer
}

// Server is an OpenAI-compatible server that follows a script. It stops with the test.
type Server struct {
	URL string // the base URL of its API

	script func(Call) Reply
	slots  chan struct{} // nil = unlimited

	mu          sync.Mutex
	calls       []Call
	now         int // concurrent requests
	most        int
	connections int
	busy        atomic.Int64
}

// New starts a server that answers at most slots requests concurrently (0 = unlimited); others
// wait. The script also receives requests for /models: see Models.
func New(t testing.TB, slots int, script func(Call) Reply) *Server {
	t.Helper()
	s := &Server{script: script}
	if slots > 0 {
		s.slots = make(chan struct{}, slots)
	}
	h := httptest.NewUnstartedServer(s)
	h.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.mu.Lock()
			s.connections++
			s.mu.Unlock()
		}
	}
	h.Start()
	t.Cleanup(h.Close)
	s.URL = h.URL + "/v1"
	return s
}

// Calls returns the requests so far, in order of arrival.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Call(nil), s.calls...)
}

// Asked returns the requests for answers so far: all except those for the list of models.
func (s *Server) Asked() (questions []Call) {
	for _, c := range s.Calls() {
		if c.Method != http.MethodGet {
			questions = append(questions, c)
		}
	}
	return questions
}

// Judged returns a script for a server of the model small, whose list of models is always
// available: answer gets only the requests for answers.
func Judged(answer func(Call) Reply) func(Call) Reply {
	return func(c Call) Reply {
		if c.Method == http.MethodGet {
			return Models("small")
		}
		return answer(c)
	}
}

// Most returns the largest number of concurrent requests, including those that waited for a
// slot.
func (s *Server) Most() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most
}

// Connections returns the number of connections so far.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connections
}

// Busy returns the total time that slots were occupied.
func (s *Server) Busy() time.Duration { return time.Duration(s.busy.Load()) }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	call := Call{len(s.calls), r.Method, r.URL.Path, r.Header, body}
	s.calls = append(s.calls, call)
	s.now++
	s.most = max(s.most, s.now)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.now--
		s.mu.Unlock()
	}()
	if s.slots != nil {
		s.slots <- struct{}{}
		began := time.Now()
		defer func() {
			s.busy.Add(int64(time.Since(began)))
			<-s.slots
		}()
	}
	s.answer(w, r, s.script(call))
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, reply Reply) {
	if reply.Latency > 0 {
		select {
		case <-time.After(reply.Latency):
		case <-r.Context().Done():
			return
		}
	}
	if reply.Until != nil {
		select {
		case <-reply.Until:
		case <-r.Context().Done():
			return
		}
	}
	if reply.Drop {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	for key, value := range reply.Header {
		w.Header().Set(key, value)
	}
	if reply.Cut {
		w.Header().Set("Content-Length", strconv.Itoa(len(reply.Body)+100))
	}
	w.WriteHeader(max(reply.Status, 200))
	_, err := io.WriteString(w, reply.Body)
	for reply.Endless && err == nil {
		_, err = io.WriteString(w, reply.Body)
	}
	if reply.Hang {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}
