package abi

import (
	"encoding/binary"
	"encoding/json"

	"github.com/merit-rl/merit/core/reward"
)

// ManifestSection is the name of the custom section that holds the manifest.
const ManifestSection = "merit.manifest"

// Manifest is what a module says about itself, as JSON in a custom section.
// All fields are optional.
type Manifest struct {
	Name        string              `json:"name,omitempty"`
	Version     string              `json:"version,omitempty"`
	Description string              `json:"description,omitempty"`
	StepIndex   reward.StepIndexing `json:"step_index,omitempty"` // default: assistant
}

// WithManifest returns the module with m as its manifest. A module that has
// one already keeps it and is refused at load: a manifest is said once.
func WithManifest(wasm []byte, m Manifest) ([]byte, error) {
	content, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	name := binary.AppendUvarint(nil, uint64(len(ManifestSection)))
	name = append(name, ManifestSection...)
	out := append([]byte{}, wasm...)
	out = append(out, 0) // custom section
	out = binary.AppendUvarint(out, uint64(len(name)+len(content)))
	return append(append(out, name...), content...), nil
}
