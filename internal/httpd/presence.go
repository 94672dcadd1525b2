package httpd

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

// connKey finds the connection of a request in its context.
type connKey struct{}

type connected struct {
	wire net.Conn        // as net/http has it, with TLS
	conn *conn           // below; nil without a door
	life context.Context // of the server
}

// Present has h answer every request whose client is there to take the answer,
// also one that has closed its own direction: net/http takes the end of what it
// reads for the end of the client, ends the request's context, and sends an empty
// 200 where h then writes nothing. Where the client is gone, nothing is sent.
//
// It looks at connections that Protect knows; on others the context stays as it
// is, and only the empty 200 is held back.
func Present(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at, _ := r.Context().Value(connKey{}).(connected)
		at.conn.enter()
		defer at.conn.leave(r.ProtoMajor)
		a := &answer{ResponseWriter: w}
		if at.wire != nil && r.ProtoMajor == 1 {
			ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.Context()))
			defer cancel(context.Canceled)
			defer context.AfterFunc(at.life, func() { cancel(context.Cause(at.life)) })()
			one := r.ProtoAtLeast(1, 1) // HTTP/1.0 knows no interim answers
			defer context.AfterFunc(r.Context(), func() { watch(ctx, cancel, at, a, one) })()
			r = r.WithContext(ctx)
		}
		h.ServeHTTP(a, r)
		if begun := a.begin(); !begun && r.Context().Err() != nil {
			Abort()
		}
		unread(w)
	})
}

// How often a client that sends no more is looked at.
const (
	firstLook = 20 * time.Millisecond
	lastLook  = time.Second
)

// watch ends a request when its client, who sends no more, is gone.
func watch(ctx context.Context, end context.CancelCauseFunc, at connected, a *answer, interim bool) {
	if at.life.Err() != nil { // the server ends the request, not the client
		return
	}
	if interim {
		a.ask(at.wire)
	}
	for wait := firstLook; ctx.Err() == nil; wait = min(2*wait, lastLook) {
		if at.gone() {
			end(errGone)
			return
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// errGone is the cause of a context whose client is gone.
var errGone error = goneError{}

type goneError struct{}

func (goneError) Error() string { return "the client has closed the connection" }

// Is makes it a context.Canceled, as net/http's own is.
func (goneError) Is(target error) bool { return target == context.Canceled }

// gone reports whether the other side is closed altogether. A client that has
// closed its own direction alone still reads.
func (at connected) gone() bool {
	if at.conn == nil {
		return true
	}
	s, ok := at.conn.Conn.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return true
	}
	hung := true
	if err := raw.Control(func(fd uintptr) { hung = hungUp(int(fd)) }); err != nil {
		return true
	}
	return hung
}

// answer knows whether anything was sent.
type answer struct {
	http.ResponseWriter
	mu   sync.Mutex
	sent bool
}

// interim is what RFC 9110 lets a server send at any time before its answer, and
// what every client has to pass over. A client that is gone answers with a reset.
const interim = "HTTP/1.1 100 Continue\r\n\r\n"

// ask makes a client that is gone say so, unless its answer is under way.
func (a *answer) ask(wire io.Writer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.sent {
		_, _ = io.WriteString(wire, interim)
	}
}

// begin notes that the answer begins, and reports whether it had begun before.
func (a *answer) begin() (before bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before, a.sent = a.sent, true
	return before
}

// WriteHeader begins the answer, unless it is an interim one.
func (a *answer) WriteHeader(status int) {
	if status >= 200 || status == http.StatusSwitchingProtocols {
		a.begin()
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write begins the answer and writes of it.
func (a *answer) Write(p []byte) (int, error) {
	a.begin()
	return a.ResponseWriter.Write(p)
}

// FlushError begins the answer and sends what was written.
func (a *answer) FlushError() error {
	a.begin()
	return http.NewResponseController(a.ResponseWriter).Flush()
}

// Flush is FlushError for those who look for an http.Flusher.
func (a *answer) Flush() { _ = a.FlushError() }

// Hijack begins the answer and hands the connection over.
func (a *answer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	a.begin()
	return http.NewResponseController(a.ResponseWriter).Hijack()
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
