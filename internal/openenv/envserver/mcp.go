package envserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/mcp"
	"github.com/merit-rl/merit/internal/mcp/answer"
	"github.com/merit-rl/merit/internal/openenv/shape"
)

// Act is the tool of an environment without tools: it plays an action.
const act = "act"

// The methods of the openenv package for sessions over MCP.
const (
	createSession = "openenv/session/create"
	closeSession  = "openenv/session/close"
)

// talks are the sessions over MCP. A session is one episode: it begins with a reset, whose
// observation is in the instructions, and its calls are the steps.
type talks struct {
	mu   sync.Mutex
	open map[string]*talk
}

// talk is a session over MCP.
type talk struct {
	mu     sync.Mutex // held during a step
	player *player
	first  string // the observation after the reset
	idle   *time.Timer
	once   sync.Once
}

// offered returns the tools of the environment: its own, or one that plays an action.
func (s *Server) offered() ([]mcp.Tool, error) {
	if len(s.spec.Tools) > 0 {
		return mcp.FromOpenAI(s.spec.Tools)
	}
	action := object{"type": "string"}
	if n := len(s.spec.Actions); n > 0 && !s.parsed {
		action["enum"] = s.spec.Actions
	}
	schema := object{"type": "object", "properties": object{"action": action}, "required": []string{"action"}, "additionalProperties": false}
	return []mcp.Tool{{Name: act, Description: "Plays an action and returns what follows.", InputSchema: mcp.Marshal(schema)}}, nil
}

// mcp answers a message over streamable HTTP. A call without a session, as clients of the
// openenv package make it, plays on an environment that exists only for the request.
func (s *Server) mcp(w http.ResponseWriter, r *http.Request) {
	m, ok := answer.Read(w, r, s.config.MaxMessage)
	if !ok {
		return
	}
	id := r.Header.Get(answer.Session)
	if id == "" {
		id = named(m.Params)
	}
	t := s.talks.find(id)
	switch {
	case id != "" && t == nil && m.Method != closeSession:
		answer.Gone(w, m.ID)
	case m.Method == closeSession:
		answer.Write(w, m, s.closed(m, id, t))
	case m.IsRequest() && (m.Method == mcp.Initialize || m.Method == createSession) && t == nil:
		s.begin(w, r, m)
	default:
		answer.Write(w, m, s.facing(t, r).Answer(r.Context(), m))
	}
}

// named returns the session that the parameters name, as the openenv package does it.
func named(params json.RawMessage) string {
	var p struct {
		Session string `json:"session_id"`
	}
	_ = strictjson.Unmarshal(params, &p) // other parameters name none
	return p.Session
}

// closed answers the request to close a session.
func (s *Server) closed(m *mcp.Message, id string, t *talk) *mcp.Message {
	if t == nil {
		return &mcp.Message{ID: m.ID, Error: mcp.Errorf(mcp.InvalidParams, "Unknown session_id: %.60s", id)}
	}
	s.talks.end(id)
	return &mcp.Message{ID: m.ID, Result: mcp.Marshal(object{"session_id": id, "closed": true})}
}

// forget ends a session at the client's request.
func (s *Server) forget(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(answer.Session)
	if s.talks.find(id) == nil {
		answer.Gone(w, nil)
		return
	}
	s.talks.end(id)
	w.WriteHeader(http.StatusNoContent)
}

// begin opens a session with the seed in the address, if there is one, and answers m.
func (s *Server) begin(w http.ResponseWriter, r *http.Request, m *mcp.Message) {
	t, err := s.talk(r)
	if err != nil {
		answer.Write(w, m, &mcp.Message{ID: m.ID, Error: mcp.Errorf(mcp.Internal, "%s", s.failure(err).Message)})
		return
	}
	id := rand.Text()
	s.talks.add(id, t, s.config.Idle)
	if m.Method == createSession {
		answer.Write(w, m, &mcp.Message{ID: m.ID, Result: mcp.Marshal(object{"session_id": id})})
		return
	}
	w.Header().Set(answer.Session, id)
	answer.Write(w, m, s.facing(t, r).Answer(r.Context(), m))
}

// talk opens a session of the environment and resets it.
func (s *Server) talk(r *http.Request) (*talk, error) {
	body := json.RawMessage("{}")
	if text := r.URL.Query().Get("seed"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return nil, invalid("seed", "the seed in the address must be a whole number from 0 to 2^64-1")
		}
		body = mcp.Marshal(object{"seed": seed})
	}
	session, err := s.pool.Open()
	if err == nil && s.stopping.Err() != nil {
		session.Close()
		err = errStopping
	}
	if err != nil {
		return nil, err
	}
	t := &talk{player: &player{server: s, session: session}}
	result, err := t.player.reset(r.Context(), body)
	if err != nil {
		t.close()
		return nil, err
	}
	t.first = told(result)
	return t, nil
}

// told returns what an agent reads of an observation.
func told(r *shape.Result) string {
	o := r.Observation.(map[string]any)
	var parts []string
	if results, ok := o["tool_results"].([]toolResult); ok {
		for _, said := range results {
			parts = append(parts, said.Content)
		}
	}
	if text, _ := o["text"].(string); text != "" {
		parts = append(parts, text)
	}
	if names, ok := o["legal_actions"].([]string); ok && !r.Done {
		parts = append(parts, "Actions: "+strings.Join(names, ", "))
	}
	told := strings.Join(parts, "\n\n")
	if over := "The episode is over."; r.Done && !strings.Contains(told, over) {
		told += "\n\n" + over
	}
	return strings.TrimPrefix(told, "\n\n")
}

// facing returns the server that a session sees, or a request without one if t is nil.
func (s *Server) facing(t *talk, r *http.Request) *answer.Server {
	a := &answer.Server{
		Peer:  mcp.Peer{Name: s.spec.Name, Version: cmp.Or(s.spec.Version, "0")},
		Tools: s.tools, Instructions: s.spec.System, Sessions: true,
	}
	if t == nil {
		a.Call = func(ctx context.Context, tool string, arguments json.RawMessage) (*mcp.Result, error) {
			alone, err := s.talk(r)
			if err != nil {
				return nil, errors.New(s.failure(err).Message)
			}
			defer alone.close()
			return s.play(ctx, alone, tool, arguments)
		}
		return a
	}
	a.Instructions = strings.TrimPrefix(a.Instructions+"\n\n"+t.first, "\n\n")
	a.Call = func(ctx context.Context, tool string, arguments json.RawMessage) (*mcp.Result, error) {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.idle != nil {
			t.idle.Reset(s.config.Idle)
		}
		return s.play(ctx, t, tool, arguments)
	}
	return a
}

// play plays a call as a step. An agent sees no reward, as OpenEnv's RFC 003 has it.
func (s *Server) play(ctx context.Context, t *talk, tool string, arguments json.RawMessage) (*mcp.Result, error) {
	step := mcp.Marshal(shape.Call{Type: shape.CallTool, Tool: tool, Arguments: arguments})
	if len(s.spec.Tools) == 0 {
		step = arguments
	}
	result, err := t.player.step(ctx, step)
	if err != nil {
		return nil, fmt.Errorf("%s", s.failure(err).Message)
	}
	value := object{"done": result.Done}
	o := result.Observation.(map[string]any)
	for _, key := range []string{"text", "tool_results", "legal_actions", "info"} {
		if v, ok := o[key]; ok {
			value[key] = v
		}
	}
	return &mcp.Result{Text: told(result), Value: mcp.Marshal(value)}, nil
}

func (t *talk) close() {
	t.once.Do(func() {
		if t.idle != nil {
			t.idle.Stop()
		}
		t.player.session.Close()
	})
}

func (t *talks) find(id string) *talk {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open[id]
}

// add keeps a session until it is idle for so long; 0 means forever.
func (t *talks) add(id string, one *talk, idle time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open = map[string]*talk{}
	}
	t.open[id] = one
	if idle > 0 {
		one.idle = time.AfterFunc(idle, func() { t.end(id) })
	}
}

// end closes a session, or all of them if id is "".
func (t *talks) end(id string) {
	t.mu.Lock()
	var ended []*talk
	for name, one := range t.open {
		if id == "" || name == id {
			ended = append(ended, one)
			delete(t.open, name)
		}
	}
	t.mu.Unlock()
	for _, one := range ended {
		one.close()
	}
}
