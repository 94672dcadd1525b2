package host

import (
	"encoding/json"
)

// Found is what is known of a plug-in without configuring it.
type Found struct {
	Name     string          `json:"name"`
	Path     string          `json:"path"`
	Version  string          `json:"version,omitempty"`
	Digest   string          `json:"digest,omitempty"` // hexadecimal SHA-256 of the binary
	Protocol uint32          `json:"protocol,omitempty"`
	Summary  string          `json:"summary,omitempty"`
	Options  json.RawMessage `json:"options,omitempty"` // every option with its default
	Err      error           `json:"-"`                 // why the rest is empty
}
