package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/merit-rl/merit/internal/base/netcause"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/mcp"
)

// The headers of streamable HTTP.
const (
	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
	headerParam   = "Mcp-Param-"
	annotation    = "x-mcp-header" // of a property in a tool's schema: repeat it in a header
)

// web is a server over streamable HTTP.
type web struct {
	server  *Server
	version string
	session string                       // "" until the server names one
	params  map[string]map[string]string // by tool: header by property
}

func newWeb(s *Server) *web { return &web{server: s} }

// requests makes requests without a proxy, because a plug-in has no variable that sets one,
// and without redirects, so that keys are not sent elsewhere.
var requests = &http.Client{
	Transport: &http.Transport{
		DisableCompression: true, MaxIdleConnsPerHost: 64, IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: 64 << 10,
	},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// ask implements transport.
func (w *web) ask(ctx context.Context, m *mcp.Message, tool string) (*mcp.Message, error) {
	response, err := w.post(ctx, m, tool)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if id := response.Header.Get(headerSession); m.Method == mcp.Initialize && len(id) <= 1024 {
		w.session = id
	}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if kind == "text/event-stream" && response.StatusCode == http.StatusOK {
		return w.stream(ctx, response.Body, m)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, int64(w.server.MaxMessage)+1))
	switch {
	case err != nil:
		return nil, netcause.Of(err)
	case len(body) > w.server.MaxMessage:
		return nil, w.tooLong()
	}
	if w.session != "" && response.StatusCode == http.StatusNotFound {
		return nil, w.refused(response.StatusCode)
	}
	answer, err := mcp.Decode(body)
	if err == nil && answer.IsResponse() && (answer.Error != nil || response.StatusCode == http.StatusOK) {
		return answer, nil
	}
	if response.StatusCode == http.StatusOK {
		return nil, fmt.Errorf("the server's answer is not a response of MCP (%v)", err)
	}
	return nil, w.refused(response.StatusCode)
}

// refused returns the error for a status without a message of MCP. Without a session, a
// status that says that the request is unknown means that the server has no handshake.
func (w *web) refused(status int) error {
	text := fmt.Sprintf("the server answers with status %d %s", status, http.StatusText(status))
	switch {
	case w.session != "" && status == http.StatusNotFound: // even with an error in its body
		return errors.New(text + ": the session has ended")
	case w.version == "" && (status == http.StatusNotFound || status == http.StatusBadRequest):
		return &mcp.Error{Code: mcp.NoMethod, Message: text}
	}
	return errors.New(text)
}

func (w *web) tooLong() error {
	return fmt.Errorf("a message of the server is longer than limits.message, %d bytes", w.server.MaxMessage)
}

// post sends a message.
func (w *web) post(ctx context.Context, m *mcp.Message, tool string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.server.URL, bytes.NewReader(m.Encode()))
	if err != nil {
		return nil, err
	}
	maps.Copy(r.Header, w.server.Header)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	w.mark(r)
	if w.version == mcp.Stateless {
		r.Header.Set(headerMethod, m.Method)
		if tool != "" {
			r.Header.Set(headerName, value(tool))
			w.repeat(r.Header, m, tool)
		}
	}
	response, err := requests.Do(r)
	return response, netcause.Of(err)
}

// mark sets the headers of the session.
func (w *web) mark(r *http.Request) {
	if w.version != "" {
		r.Header.Set(headerVersion, w.version)
	}
	if w.session != "" {
		r.Header.Set(headerSession, w.session)
	}
}

// value returns text as the value of a header.
func value(text string) string {
	plain := strings.TrimSpace(text) == text && !strings.HasPrefix(text, "=?base64?")
	if plain && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return text
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?="
}

// repeat sets the headers that the schema of a tool wants for its arguments.
func (w *web) repeat(h http.Header, m *mcp.Message, tool string) {
	var said struct {
		Arguments map[string]json.RawMessage `json:"arguments"`
	}
	if strictjson.Unmarshal(m.Params, &said) != nil {
		return
	}
	for property, header := range w.params[tool] {
		raw := said.Arguments[property]
		var text string
		switch {
		case len(raw) == 0 || strings.ContainsRune("{[n", rune(raw[0])): // no such argument, null or no simple value
		case strictjson.Unmarshal(raw, &text) == nil:
			h.Set(headerParam+header, value(text))
		default: // a number, true or false
			h.Set(headerParam+header, string(raw))
		}
	}
}

// know implements transport.
func (w *web) know(tools []mcp.Tool) {
	w.params = map[string]map[string]string{}
	for _, t := range tools {
		var schema struct {
			Properties map[string]map[string]any `json:"properties"`
		}
		if strictjson.Unmarshal(t.InputSchema, &schema) != nil {
			continue
		}
		for name, property := range schema.Properties {
			header, ok := property[annotation].(string)
			if !ok || header == "" || strings.ContainsFunc(header, func(r rune) bool { return r <= ' ' || r > '~' || r == ':' }) {
				continue
			}
			if w.params[t.Name] == nil {
				w.params[t.Name] = map[string]string{}
			}
			w.params[t.Name][name] = header
		}
	}
}

// stream reads the events of an answer until the response to m.
func (w *web) stream(ctx context.Context, body io.Reader, m *mcp.Message) (*mcp.Message, error) {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, min(w.server.MaxMessage, 64<<10)), w.server.MaxMessage)
	var data []byte
	for news := 0; lines.Scan(); {
		line := lines.Text()
		if part, ok := strings.CutPrefix(line, "data:"); ok {
			if data = append(append(data, strings.TrimPrefix(part, " ")...), '\n'); len(data) > w.server.MaxMessage {
				return nil, w.tooLong()
			}
			continue
		}
		if line != "" || len(bytes.TrimSpace(data)) == 0 {
			continue
		}
		answer, err := mcp.Decode(data)
		if err != nil {
			return nil, fmt.Errorf("the server sent an event that is not a message: %s", err.(*mcp.Error).Message)
		}
		data = data[:0]
		if answer.IsResponse() && (answer.ID == nil || string(answer.ID) == string(m.ID)) {
			return answer, nil
		}
		if answer.IsRequest() {
			if err := w.tell(ctx, answerTo(answer)); err != nil {
				return nil, err
			}
		}
		if news++; news > mostNews {
			return nil, fmt.Errorf("the server sent more than %d messages without an answer", mostNews)
		}
	}
	switch {
	case errors.Is(lines.Err(), bufio.ErrTooLong):
		return nil, w.tooLong()
	case lines.Err() != nil:
		return nil, netcause.Of(lines.Err())
	}
	return nil, errors.New("the server ended its answer without a response")
}

// tell implements transport.
func (w *web) tell(ctx context.Context, m *mcp.Message) error {
	response, err := w.post(ctx, m, "")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode >= 300 {
		return w.refused(response.StatusCode)
	}
	return nil
}

func (w *web) speak(version string) {
	if w.version = version; version == mcp.Stateless {
		w.session = ""
	}
}

// close ends the session of the server, for at most a second.
func (w *web) close() {
	if w.session == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodDelete, w.server.URL, nil)
	if err != nil {
		return
	}
	maps.Copy(r.Header, w.server.Header)
	w.mark(r)
	if response, err := requests.Do(r); err == nil { // the server may have gone
		_ = response.Body.Close()
	}
}

// Headers returns the header that names select: the name of a header, and the variable of the
// environment that holds its value. missing lists the variables that are not set.
func Headers(names map[string]string, lookup func(string) (string, bool)) (header http.Header, missing []string) {
	header = http.Header{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		value, ok := lookup(names[name])
		if !ok {
			missing = append(missing, names[name])
			continue
		}
		header.Set(name, value)
	}
	return header, missing
}
