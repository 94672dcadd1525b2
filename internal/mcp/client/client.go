// Package client is a client of MCP servers: of a process over its standard input and output,
// or of an address over streamable HTTP. A session agrees on a revision of the protocol, lists
// the tools and calls them, one call at a time. The server is untrusted: messages, lists,
// schemas and times are bounded.
//
// A session that broke stays broken; its owner opens another.
package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/mcp"
	"github.com/merit-rl/merit/internal/wire"
)

// mostPages is the largest number of pages of a list of tools.
const mostPages = 64

// Server describes a server and how to reach it: Command, or URL.
type Server struct {
	Command []string // the program and its arguments
	Dir     string   // its working directory; "" is that of this process
	Env     []string // everything that it inherits, as KEY=value

	URL    string      // http or https
	Header http.Header // sent with every request; may contain keys

	Start      time.Duration // maximum time to open a session and list the tools
	Call       time.Duration // maximum time of a call
	MaxMessage int           // maximum bytes of a message of the server
	MaxText    int           // maximum bytes of a result's text; the rest is cut
	// Stateless begins with the revision that has no handshake. Otherwise a session begins
	// with the handshake, which older servers need, and uses the other only if the server
	// refuses it.
	Stateless bool
}

// transport exchanges messages with a server.
type transport interface {
	// ask sends a request and returns its response. tool is the tool that it calls.
	ask(ctx context.Context, m *mcp.Message, tool string) (*mcp.Message, error)
	// tell sends a notification.
	tell(ctx context.Context, m *mcp.Message) error
	// speak sets the revision of the protocol of all later messages.
	speak(version string)
	// know keeps the schemas of the tools, which may name arguments to repeat in headers.
	know(tools []mcp.Tool)
	close()
}

// Session is a connection to a server. It is not safe for concurrent use.
type Session struct {
	Version      string   // revision of the protocol
	Peer         mcp.Peer // the server's name, as it says
	Instructions string   // what the server says about its use; may be empty

	server *Server
	link   transport
	last   int64
	broken error
}

// me is the name of this client. Its version is that of the client, not of Merit, so that
// recordings do not depend on a release.
var me = mcp.Peer{Name: "merit", Version: "1"}

// Open starts or reaches the server and agrees on a revision.
func (s *Server) Open(ctx context.Context) (*Session, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.Start, fmt.Errorf("the server did not begin a session within %v", s.Start))
	defer cancel()
	var link transport
	if s.URL != "" {
		link = newWeb(s)
	} else {
		p, err := startProcess(s)
		if err != nil {
			return nil, err
		}
		link = p
	}
	c := &Session{server: s, link: link}
	if err := c.agree(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// agree chooses the revision.
func (c *Session) agree(ctx context.Context) error {
	if c.server.Stateless {
		return c.discover(ctx)
	}
	err := c.initialize(ctx)
	var refusal *mcp.Error
	if !errors.As(err, &refusal) {
		return err
	}
	switch named := mcp.Served(refusal); {
	case slices.Contains(named, mcp.Stateless),
		named == nil && slices.Contains([]int{mcp.NoMethod, mcp.InvalidRequest, mcp.InvalidParams}, refusal.Code):
		if again := c.discover(ctx); again != nil {
			return errors.Join(err, again)
		}
		return nil
	case named != nil:
		return fmt.Errorf("the server speaks the revisions %v, but Merit %v", named, mcp.Versions())
	}
	return err
}

func (c *Session) initialize(ctx context.Context) error {
	raw, err := c.request(ctx, mcp.Initialize, mcp.Marshal(mcp.InitializeParams{Version: mcp.Handshake, Capabilities: map[string]any{}, Client: me}), "")
	if err != nil {
		return err
	}
	var r mcp.InitializeResult
	if err := strictjson.Unmarshal(raw, &r); err != nil {
		return errors.New("the answer to initialize cannot be read")
	}
	if !mcp.HasHandshake(r.Version) {
		return fmt.Errorf("the server answers with revision %.40q, but Merit speaks %v", r.Version, mcp.Versions())
	}
	c.take(r.Version, r.Capabilities, r.Server, r.Instructions)
	return c.link.tell(ctx, &mcp.Message{Method: mcp.Initialized})
}

func (c *Session) discover(ctx context.Context) error {
	c.Version = mcp.Stateless
	c.link.speak(mcp.Stateless)
	raw, err := c.request(ctx, mcp.Discover, nil, "")
	if err != nil {
		return err
	}
	var r struct {
		mcp.DiscoverResult
		Meta struct {
			Server mcp.Peer `json:"io.modelcontextprotocol/serverInfo"`
		} `json:"_meta"`
	}
	if err := strictjson.Unmarshal(raw, &r); err != nil {
		return errors.New("the answer to server/discover cannot be read")
	}
	if !slices.Contains(r.Versions, mcp.Stateless) {
		return fmt.Errorf("the server speaks the revisions %.200q, but Merit %v", r.Versions, mcp.Versions())
	}
	c.take(mcp.Stateless, r.Capabilities, r.Meta.Server, r.Instructions)
	return nil
}

// take keeps what the server says of itself.
func (c *Session) take(version string, _ map[string]any, peer mcp.Peer, instructions string) {
	c.link.speak(version)
	c.Version, c.Instructions = version, wire.Cut(instructions, wire.MaxSystem/2)
	c.Peer = mcp.Peer{Name: wire.Clean(peer.Name, 200), Version: wire.Clean(peer.Version, 200)}
}

// Tools lists the tools of the server.
func (c *Session) Tools(ctx context.Context) ([]mcp.Tool, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.server.Start, fmt.Errorf("the server did not list its tools within %v", c.server.Start))
	defer cancel()
	var all []mcp.Tool
	cursor := ""
	for range mostPages {
		params := map[string]any{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		raw, err := c.request(ctx, mcp.ListTools, mcp.Marshal(params), "")
		if err != nil {
			return nil, err
		}
		page, next, err := mcp.DecodeTools(raw)
		if err != nil {
			return nil, err
		}
		if all = append(all, page...); next == "" || len(all) > mcp.MostTools {
			c.link.know(all)
			return all, mcp.CheckTools(all)
		}
		cursor = next
	}
	return nil, fmt.Errorf("the list of tools has more than %d pages", mostPages)
}

// Call calls a tool. arguments is an object. An error that the server answers with is a
// result with IsError. The error is a *Late if the call takes too long; any other error
// breaks the session.
func (c *Session) Call(ctx context.Context, tool string, arguments json.RawMessage) (*mcp.Result, error) {
	if c.broken != nil {
		return nil, c.broken
	}
	limited, cancel := context.WithTimeoutCause(ctx, c.server.Call, &Late{c.server.Call})
	defer cancel()
	raw, err := c.request(limited, mcp.CallTool, mcp.Marshal(map[string]any{"name": tool, "arguments": arguments}), tool)
	var refusal *mcp.Error
	switch {
	case errors.As(err, &refusal):
		return &mcp.Result{Text: mcp.Shorten(refusal.Error(), c.server.MaxText), IsError: true}, nil
	case errors.As(err, new(*Late)):
		return nil, err
	case err == nil:
		var r *mcp.Result
		if r, err = mcp.DecodeResult(raw, c.server.MaxText); err == nil {
			return r, nil
		}
	}
	c.broken = err
	return nil, err
}

// Late is the error of a call that takes too long.
type Late struct{ Limit time.Duration }

// Error implements error.
func (l *Late) Error() string {
	return fmt.Sprintf("timeout: the tool did not answer within %v", l.Limit)
}

// request sends a request and returns its result. The error of a response is a *mcp.Error.
func (c *Session) request(ctx context.Context, method string, params json.RawMessage, tool string) (json.RawMessage, error) {
	c.last++
	m := &mcp.Message{ID: json.RawMessage(strconv.FormatInt(c.last, 10)), Method: method, Params: params}
	if c.Version == mcp.Stateless {
		m.Params = enveloped(params)
	}
	answer, err := c.link.ask(ctx, m, tool)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, err
	case answer.Error != nil:
		return nil, answer.Error
	}
	return answer.Result, nil
}

// enveloped returns params with what a request at mcp.Stateless says of its client.
func enveloped(params json.RawMessage) json.RawMessage {
	all := map[string]any{}
	if params != nil {
		var given map[string]json.RawMessage
		_ = strictjson.Unmarshal(params, &given) // this package wrote it
		for k, v := range given {
			all[k] = v
		}
	}
	all["_meta"] = map[string]any{mcp.MetaVersion: mcp.Stateless, mcp.MetaClient: me, mcp.MetaCapabilities: map[string]any{}}
	return mcp.Marshal(all)
}

// Close ends the session, and the process of the server.
func (c *Session) Close() { c.link.close() }
