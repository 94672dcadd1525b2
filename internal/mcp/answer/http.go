package answer

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/mcp"
	"github.com/merit-rl/merit/internal/wire"
)

// Session is the header that names a session.
const Session = "Mcp-Session-Id"

// cancelled returns the id of the request that a notification cancels.
func cancelled(params json.RawMessage) string {
	var p struct {
		ID json.RawMessage `json:"requestId"`
	}
	_ = strictjson.Unmarshal(params, &p) // an empty id is that of no request
	return string(p.ID)
}

// Read reads the message in a request, of at most most bytes, and checks its headers. If ok is
// false, Read has answered.
func Read(w http.ResponseWriter, r *http.Request, most int64) (m *mcp.Message, ok bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return nil, refuse(w, http.StatusRequestEntityTooLarge, nil, mcp.Errorf(mcp.InvalidRequest, "the message has more than %d bytes", most))
	}
	if err != nil {
		return nil, refuse(w, http.StatusRequestTimeout, nil, mcp.Errorf(mcp.InvalidRequest, "the message did not arrive in time"))
	}
	if m, err = mcp.Decode(body); err != nil {
		return nil, refuse(w, http.StatusBadRequest, nil, err.(*mcp.Error))
	}
	if e := headers(r.Header, m); e != nil {
		return nil, refuse(w, http.StatusBadRequest, m.ID, e)
	}
	return m, true
}

// headers checks the headers that repeat parts of a message.
func headers(h http.Header, m *mcp.Message) *mcp.Error {
	said := h.Get("Mcp-Protocol-Version")
	version, stateless := mcp.StatelessVersion(m.Params)
	stateless = stateless && m.Method != mcp.Initialize
	switch {
	case stateless && m.IsRequest() && said != version:
		return mcp.Errorf(mcp.HeaderMismatch, "the header Mcp-Protocol-Version is %q, the request says %q", wire.Clean(said, 40), wire.Clean(version, 40))
	case said != "" && m.Method != mcp.Initialize && !slices.Contains(mcp.Versions(), said):
		return mcp.NotServed(wire.Clean(said, 40), false)
	case !stateless || !m.IsRequest() || version != mcp.Stateless:
		return nil
	case h.Get("Mcp-Method") != m.Method:
		return mcp.Errorf(mcp.HeaderMismatch, "the header Mcp-Method is not the method of the request")
	}
	if m.Method != mcp.CallTool {
		return nil
	}
	var p struct {
		Name string `json:"name"`
	}
	if strictjson.Unmarshal(m.Params, &p) == nil && plain(h.Get("Mcp-Name")) != p.Name {
		return mcp.Errorf(mcp.HeaderMismatch, "the header Mcp-Name is not the tool that the request names")
	}
	return nil
}

// plain decodes the value of a header.
func plain(value string) string {
	inner, ok := strings.CutPrefix(value, "=?base64?")
	if !ok || !strings.HasSuffix(inner, "?=") {
		return value
	}
	text, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(inner, "?="))
	if err != nil {
		return value
	}
	return string(text)
}

// refuse answers with an error and returns false.
func refuse(w http.ResponseWriter, status int, id json.RawMessage, e *mcp.Error) bool {
	write(w, status, &mcp.Message{ID: id, Error: e})
	return false
}

// Gone answers a request for a session that does not exist.
func Gone(w http.ResponseWriter, id json.RawMessage) {
	refuse(w, http.StatusNotFound, id, mcp.Errorf(mcp.InvalidRequest, "the session does not exist, or has ended: begin another with initialize"))
}

// Write writes the answer to asked; nil acknowledges a notification.
func Write(w http.ResponseWriter, asked, answer *mcp.Message) {
	if answer == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	status := http.StatusOK
	if _, stateless := mcp.StatelessVersion(asked.Params); stateless && answer.Error != nil {
		switch answer.Error.Code {
		case mcp.NoMethod:
			status = http.StatusNotFound
		case mcp.InvalidParams, mcp.InvalidRequest, mcp.NoVersion, mcp.HeaderMismatch:
			status = http.StatusBadRequest
		}
	}
	write(w, status, answer)
}

func write(w http.ResponseWriter, status int, m *mcp.Message) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "%s\n", m.Encode()) // an error means that the client has disconnected
}
