// Package session is a client of OpenEnv servers. A session is a WebSocket on which each
// message is answered before the next is sent. A broken session stays broken; its owner
// opens another.
package session

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/merit-rl/merit/internal/base/netcause"
	"github.com/merit-rl/merit/internal/openenv/shape"
)

// Server describes a server and how to connect to it.
type Server struct {
	URL        string        // http or https, without the path of an endpoint
	Header     http.Header   // sent with every request; may contain keys
	Connect    time.Duration // maximum time to open a connection
	MaxMessage int64         // maximum bytes of a message or body
	// Places, if not nil, limits the number of connections that are being opened at
	// the same time to its capacity.
	Places chan struct{}
}

// client opens connections and reads bodies. It does not use a proxy: a plug-in has no
// environment variables that would set one.
var client = &http.Client{
	Transport:     &http.Transport{DisableCompression: true, MaxIdleConns: 4, IdleConnTimeout: 30 * time.Second},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // do not send keys elsewhere
}

// Session is one connection. It is not safe for concurrent use.
type Session struct {
	conn    *websocket.Conn
	replies chan []byte   // received messages
	over    chan struct{} // closed after the reader has stopped and set why
	why     error
	once    sync.Once
	broken  bool
}

// Refused is the error of a server that answers with an HTTP error status.
type Refused struct{ Status int }

// Error implements error.
func (r *Refused) Error() string {
	return fmt.Sprintf("the server refused the connection with status %d %s", r.Status, http.StatusText(r.Status))
}

// Open connects. If the server has no free session, the first answer reports it.
func (s *Server) Open(ctx context.Context) (*Session, error) {
	if s.Places != nil {
		select {
		case s.Places <- struct{}{}:
			defer func() { <-s.Places }()
		case <-ctx.Done():
			return nil, fmt.Errorf("while waiting for other connections to open: %w", context.Cause(ctx))
		}
	}
	limited, cancel := context.WithTimeout(ctx, s.Connect)
	defer cancel()
	conn, response, err := websocket.Dial(limited, s.URL+"/ws", &websocket.DialOptions{HTTPClient: client, HTTPHeader: s.Header})
	switch {
	case err == nil:
	case response != nil && response.StatusCode != http.StatusSwitchingProtocols:
		return nil, &Refused{Status: response.StatusCode}
	case limited.Err() != nil && ctx.Err() == nil:
		return nil, fmt.Errorf("no connection within %v: %w", s.Connect, context.DeadlineExceeded)
	default:
		return nil, netcause.Of(err)
	}
	conn.SetReadLimit(s.MaxMessage)
	session := &Session{conn: conn, replies: make(chan []byte, 4), over: make(chan struct{})}
	go session.read(s.MaxMessage)
	return session, nil
}

// read receives messages, so that pings are answered between requests.
func (s *Session) read(most int64) {
	defer close(s.over)
	for {
		kind, text, err := s.conn.Read(context.Background())
		switch {
		case websocket.CloseStatus(err) == websocket.StatusMessageTooBig || errors.Is(err, websocket.ErrMessageTooBig):
			s.why = fmt.Errorf("a message is longer than max_message, %d bytes", most)
			return
		case err != nil:
			s.why = fmt.Errorf("the server closed the session: %w", netcause.Of(err))
			return
		case kind != websocket.MessageText:
			s.why = errors.New("the server sent a message that is not text")
		default:
			select {
			case s.replies <- text:
				continue
			default:
				s.why = errors.New("the server sent an unexpected message")
			}
		}
		s.conn.CloseNow()
		return
	}
}

// Ask sends a message and returns its answer. An error message of the server is a
// *shape.Failure. Any other error, and a failure that does not concern only the message,
// breaks the session.
func (s *Session) Ask(ctx context.Context, message []byte) (shape.Message, error) {
	if s.broken {
		return shape.Message{}, errors.New("the session is broken")
	}
	m, err := s.ask(ctx, message)
	var f *shape.Failure
	if err != nil && !(errors.As(err, &f) && (f.Code == shape.ValidationError || f.Code == shape.ExecutionError)) {
		s.Break()
	}
	return m, err
}

func (s *Session) ask(ctx context.Context, message []byte) (shape.Message, error) {
	select {
	case text := <-s.replies: // an earlier message: why the session was refused
		m, err := read(text)
		if err == nil {
			err = fmt.Errorf("the server sent an unexpected message of type %q", m.Type)
		}
		return m, err
	default:
	}
	if err := s.conn.Write(ctx, websocket.MessageText, message); err != nil && ctx.Err() != nil {
		return shape.Message{}, context.Cause(ctx)
	} // the reader reports other errors of the connection, after the messages that arrived before
	select {
	case text := <-s.replies:
		return read(text)
	case <-ctx.Done():
		return shape.Message{}, context.Cause(ctx)
	case <-s.over:
	}
	select {
	case text := <-s.replies:
		return read(text)
	default:
		return shape.Message{}, s.why
	}
}

// read decodes a message of the server.
func read(text []byte) (shape.Message, error) {
	m, err := shape.Decode(text)
	switch {
	case err != nil:
		return m, fmt.Errorf("cannot read the server's message: %s", err.(*shape.Failure).Message)
	case m.Type == shape.Error:
		return m, shape.DecodeFailure(m.Data)
	}
	return m, nil
}

// Broken reports whether the session can no longer be used.
func (s *Session) Broken() bool {
	select {
	case <-s.over:
		return true
	default:
		return s.broken
	}
}

// Break closes the connection without a closing message.
func (s *Session) Break() {
	s.broken = true
	s.once.Do(func() { s.conn.CloseNow() })
}

// Close sends a closing message, for at most a second, and closes the connection.
func (s *Session) Close() {
	if !s.Broken() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = s.conn.Write(ctx, websocket.MessageText, shape.Encode(shape.Close, nil)) // closing the connection has the same effect
		select {
		case <-s.over:
		case <-ctx.Done():
		}
	}
	s.Break()
}
