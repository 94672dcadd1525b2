package abi

import (
	"encoding/binary"
	"encoding/json"

	"github.com/merit-rl/merit/core/reward"
)

// ManifestSection is the name of the custom section that holds the manifest.
const ManifestSection = "merit.manifest"

// Manifest is a module's description of itself, as JSON in a custom section.
// All fields are optional.
type Manifest struct {
	Name        string              `json:"name,omitempty"`
	Version     string              `json:"version,omitempty"`
	Description string              `json:"description,omitempty"`
	StepIndex   reward.StepIndexing `json:"step_index,omitempty"` // default: assistant
	WarmUp      WarmUp              `json:"warm_up,omitempty"`    // default: own if the reward has its own, else conversation
	// Without are the kinds of things that the reward can do without if the
	// sandbox refuses them, as reward.Refusal names them. Its score is then
	// valid.
	Without []string `json:"without,omitempty"`
}

// WarmUp is what runs once, before the snapshot from which every evaluation
// starts.
type WarmUp string

// The kinds of warm-up.
const (
	// WarmUpConversation evaluates a built-in conversation twice. State that
	// the reward keeps from them is present in every evaluation.
	WarmUpConversation WarmUp = "conversation"
	// WarmUpOwn is the reward's own warm-up: the export merit_warm_up, or what
	// a script marks. It has the budget of a start and replaces the
	// conversation.
	WarmUpOwn WarmUp = "own"
	// WarmUpOff means no warm-up: an evaluation starts from the state after the
	// start.
	WarmUpOff WarmUp = "off"
)

// WithManifest returns the module with m as its manifest. If the module already
// has a manifest, it then has two and is rejected at load.
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
