// Package session is a client of OpenEnv servers: a session is a WebSocket on
// which one message is answered before the next is sent. A session that breaks
// stays broken; its owner opens another.
package session

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/merit-rl/merit/internal/openenv/shape"
)

// Server says where a server is and how to speak to it.
type Server struct {
	URL        string        // http or https, without the path of an endpoint
	Header     http.Header   // sent with everything; may hold keys
	Connect    time.Duration // bounds the opening of a connection
	MaxMessage int64         // bytes that a message or body may have
	// Places, if it is not nil, bounds how many connections are opened at one
	// time by its capacity.
	Places chan struct{}
}

// client opens connections and asks for bodies. It takes no proxy from
// anywhere: a plug-in has no environment variables that would name one.
var client = &http.Client{
	Transport:     &http.Transport{DisableCompression: true, MaxIdleConns: 4, IdleConnTimeout: 30 * time.Second},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // keys go nowhere else
}

// Session is one connection. It is for one caller at a time.
type Session struct {
	conn    *websocket.Conn
	replies chan []byte   // what has arrived
	over    chan struct{} // closed when the reader has ended, and why is set
	why     error
	once    sync.Once
	broken  bool
}

// Refused is a server that answers a connection with an HTTP status.
type Refused struct{ Status int }

// Error implements error.
func (r *Refused) Error() string {
	return fmt.Sprintf("the server refuses the connection with status %d %s", r.Status, http.StatusText(r.Status))
}

// Open connects. That the server has no session left is told by the first
// answer.
func (s *Server) Open(ctx context.Context) (*Session, error) {
	if s.Places != nil {
		select {
		case s.Places <- struct{}{}:
			defer func() { <-s.Places }()
		case <-ctx.Done():
			return nil, fmt.Errorf("waited for other connections to open: %w", context.Cause(ctx))
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
		return nil, plain(err)
	}
	conn.SetReadLimit(s.MaxMessage)
	session := &Session{conn: conn, replies: make(chan []byte, 4), over: make(chan struct{})}
	go session.read(s.MaxMessage)
	return session, nil
}

// read takes what arrives, so that pings are answered while nobody asks.
func (s *Session) read(most int64) {
	defer close(s.over)
	for {
		kind, text, err := s.conn.Read(context.Background())
		switch {
		case websocket.CloseStatus(err) == websocket.StatusMessageTooBig || errors.Is(err, websocket.ErrMessageTooBig):
			s.why = fmt.Errorf("a message has more than max_message, %d bytes", most)
			return
		case err != nil:
			s.why = fmt.Errorf("the server has ended the session: %w", plain(err))
			return
		case kind != websocket.MessageText:
			s.why = errors.New("the server has sent a message that is no text")
		default:
			select {
			case s.replies <- text:
				continue
			default:
				s.why = errors.New("the server sends messages that nobody asked for")
			}
		}
		s.conn.CloseNow()
		return
	}
}

// Ask sends a message and returns its answer. An error message of the server is
// a *shape.Failure; any other error, and a failure that is not about the message
// alone, breaks the session.
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
	case text := <-s.replies: // why the session was refused
		m, err := read(text)
		if err == nil {
			err = fmt.Errorf("the server has sent a message of type %q that nobody asked for", m.Type)
		}
		return m, err
	default:
	}
	if err := s.conn.Write(ctx, websocket.MessageText, message); err != nil && ctx.Err() != nil {
		return shape.Message{}, context.Cause(ctx)
	} // any other error of the connection is told by the reader, behind what has arrived before it
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

// read decodes what a server has sent.
func read(text []byte) (shape.Message, error) {
	m, err := shape.Decode(text)
	switch {
	case err != nil:
		return m, fmt.Errorf("the server's message cannot be read: %s", err.(*shape.Failure).Message)
	case m.Type == shape.Error:
		return m, shape.DecodeFailure(m.Data)
	}
	return m, nil
}

// Broken reports whether nothing can be asked any more.
func (s *Session) Broken() bool {
	select {
	case <-s.over:
		return true
	default:
		return s.broken
	}
}

// Break ends the connection without a word.
func (s *Session) Break() {
	s.broken = true
	s.once.Do(func() { s.conn.CloseNow() })
}

// Close says good-bye, within a second, and ends the connection.
func (s *Session) Close() {
	if !s.Broken() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = s.conn.Write(ctx, websocket.MessageText, shape.Encode(shape.Close, nil)) // the end of the connection says the same
		select {
		case <-s.over:
		case <-ctx.Done():
		}
	}
	s.Break()
}
