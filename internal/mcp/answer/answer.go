// Package answer is the server's side of MCP for tools. It answers one message at a time, so
// that any transport can carry it: Serve reads lines, and Read and Write are for HTTP.
package answer

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/mcp"
	"github.com/merit-rl/merit/internal/wire"
)

// Server is what a client sees.
type Server struct {
	Peer         mcp.Peer
	Instructions string
	Tools        []mcp.Tool
	// Sessions means that calls depend on those before them. Such a server refuses the
	// revision without a handshake, whose requests belong to no session; its clients then
	// begin one.
	Sessions bool
	// Call calls a tool that is in Tools. An error is a result with IsError, which a model
	// reads; a *mcp.Error is the error of the response.
	Call func(ctx context.Context, tool string, arguments json.RawMessage) (*mcp.Result, error)
}

// capabilities say that the server has tools, which never change.
var capabilities = map[string]any{"tools": map[string]any{"listChanged": false}}

// Answer answers a request. It returns nil for what needs no answer.
func (s *Server) Answer(ctx context.Context, m *mcp.Message) *mcp.Message {
	if !m.IsRequest() {
		return nil
	}
	version, stateless := mcp.StatelessVersion(m.Params)
	stateless = stateless && m.Method != mcp.Initialize // which does not exist there
	var result any
	err := error(nil)
	if stateless && (version != mcp.Stateless || s.Sessions) {
		err = mcp.NotServed(version, s.Sessions)
	} else {
		result, err = s.answer(ctx, m, stateless)
	}
	if err == nil && stateless {
		result = s.complete(m.Method, result.(map[string]any))
	}
	if err == nil {
		return &mcp.Message{ID: m.ID, Result: mcp.Marshal(result)}
	}
	var refusal *mcp.Error
	if !errors.As(err, &refusal) {
		refusal = mcp.Errorf(mcp.Internal, "%s", wire.Clean(err.Error(), 2000))
	}
	return &mcp.Message{ID: m.ID, Error: refusal}
}

func (s *Server) answer(ctx context.Context, m *mcp.Message, stateless bool) (any, error) {
	switch m.Method {
	case mcp.Initialize:
		var p mcp.InitializeParams
		if err := strictjson.Unmarshal(m.Params, &p); err != nil || p.Version == "" {
			return nil, mcp.Errorf(mcp.InvalidParams, "initialize needs a protocolVersion")
		}
		return mcp.InitializeResult{Version: mcp.Agreed(p.Version), Capabilities: capabilities, Server: s.Peer, Instructions: s.Instructions}, nil
	case mcp.Ping:
		return map[string]any{}, nil
	case mcp.ListTools:
		return map[string]any{"tools": s.Tools}, nil
	case mcp.CallTool:
		return s.call(ctx, m.Params)
	case mcp.Discover:
		if stateless {
			r := map[string]any{"supportedVersions": mcp.Versions(), "capabilities": capabilities}
			if s.Instructions != "" {
				r["instructions"] = s.Instructions
			}
			return r, nil
		}
	}
	return nil, mcp.Errorf(mcp.NoMethod, "Method not found: %s", wire.Clean(m.Method, 60))
}

// complete adds what every result has at mcp.Stateless. Lists may be kept by nobody: they are
// those of a process, which a client cannot tell from the next one at its address.
func (s *Server) complete(method string, result map[string]any) map[string]any {
	result["resultType"] = "complete"
	result["_meta"] = map[string]any{mcp.MetaServer: s.Peer}
	if method == mcp.ListTools || method == mcp.Discover {
		result["ttlMs"], result["cacheScope"] = 0, "private"
	}
	return result
}

func (s *Server) call(ctx context.Context, params json.RawMessage) (map[string]any, error) {
	var p struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := strictjson.Unmarshal(params, &p); err != nil {
		return nil, mcp.Errorf(mcp.InvalidParams, "tools/call needs a name and arguments")
	}
	if !slices.ContainsFunc(s.Tools, func(t mcp.Tool) bool { return t.Name == p.Name }) {
		return nil, mcp.Errorf(mcp.InvalidParams, "Unknown tool: %s", wire.Clean(p.Name, 100))
	}
	if len(p.Arguments) == 0 || string(p.Arguments) == "null" {
		p.Arguments = json.RawMessage("{}")
	}
	if p.Arguments[0] != '{' {
		return nil, mcp.Errorf(mcp.InvalidParams, "the arguments must be an object")
	}
	r, err := s.Call(ctx, p.Name, p.Arguments)
	var refusal *mcp.Error
	switch {
	case errors.As(err, &refusal):
		return nil, refusal
	case err != nil:
		r = &mcp.Result{Text: err.Error(), IsError: true}
	}
	return r.Encode(), nil
}
