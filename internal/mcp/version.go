package mcp

import (
	"encoding/json"
	"slices"

	"github.com/merit-rl/merit/internal/base/strictjson"
)

// The revisions of the protocol, by date. Those up to Handshake begin a session with
// initialize; at Stateless every request is complete in itself.
const (
	Handshake = "2025-11-25"
	Stateless = "2026-07-28"
)

// handshakes lists the revisions with a handshake, the newest first.
var handshakes = []string{Handshake, "2025-06-18", "2025-03-26", "2024-11-05"}

// Versions returns every revision that Merit speaks, the newest first.
func Versions() []string { return append([]string{Stateless}, handshakes...) }

// HasHandshake reports whether version is a revision with a handshake that Merit speaks.
func HasHandshake(version string) bool { return slices.Contains(handshakes, version) }

// Agreed returns the revision with which a server answers the request initialize for
// version: the same one if the server speaks it, otherwise the newest with a handshake.
func Agreed(version string) string {
	if HasHandshake(version) {
		return version
	}
	return Handshake
}

// Peer names a program, its version, and what it can do.
type Peer struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// InitializeParams are the parameters of initialize.
type InitializeParams struct {
	Version      string         `json:"protocolVersion"`
	Capabilities map[string]any `json:"capabilities"`
	Client       Peer           `json:"clientInfo"`
}

// InitializeResult answers initialize.
type InitializeResult struct {
	Version      string         `json:"protocolVersion"`
	Capabilities map[string]any `json:"capabilities"`
	Server       Peer           `json:"serverInfo"`
	Instructions string         `json:"instructions,omitempty"`
}

// DiscoverResult answers server/discover.
type DiscoverResult struct {
	Type         string         `json:"resultType"`
	Versions     []string       `json:"supportedVersions"`
	Capabilities map[string]any `json:"capabilities"`
	Instructions string         `json:"instructions,omitempty"`
	CacheScope   string         `json:"cacheScope"`
	TTL          int            `json:"ttlMs"` // how long the answer may be kept, in milliseconds
	Meta         map[string]any `json:"_meta,omitempty"`
}

// The names in _meta of a request at Stateless, and of the server's name in a result.
const (
	MetaVersion      = "io.modelcontextprotocol/protocolVersion"
	MetaClient       = "io.modelcontextprotocol/clientInfo"
	MetaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaServer       = "io.modelcontextprotocol/serverInfo"
)

// NotServed returns the error of a server that does not speak version. sessions means that it
// speaks only the revisions with a handshake.
func NotServed(version string, sessions bool) *Error {
	supported := Versions()
	if sessions {
		supported = handshakes
	}
	e := Errorf(NoVersion, "Unsupported protocol version")
	e.Data = Marshal(map[string]any{"supported": supported, "requested": version})
	return e
}

// Served returns the revisions that the server named in its error about a revision; nil if
// the error is another one.
func Served(e *Error) []string {
	var data struct {
		Supported []string `json:"supported"`
	}
	if e.Code != NoVersion || strictjson.Unmarshal(e.Data, &data) != nil {
		return nil
	}
	return data.Supported
}

// StatelessVersion returns the revision in the _meta of a request's parameters. ok is false
// if there is none: the request belongs to a session with a handshake.
func StatelessVersion(params json.RawMessage) (version string, ok bool) {
	var said struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	if strictjson.Unmarshal(params, &said) != nil || said.Meta[MetaVersion] == nil {
		return "", false
	}
	if strictjson.Unmarshal(said.Meta[MetaVersion], &version) != nil {
		return "", true
	}
	return version, true
}
