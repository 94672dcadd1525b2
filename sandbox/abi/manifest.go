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
	WarmUp      WarmUp              `json:"warm_up,omitempty"`    // default: own if the reward brings one, else conversation
	// Without are the kinds of things that the reward does without when the sandbox
	// refuses them, as reward.Refusal names them: its score stands all the same.
	Without []string `json:"without,omitempty"`
}

// WarmUp says what is run once, before the snapshot that every evaluation
// begins from.
type WarmUp string

// The kinds of warm-up.
const (
	// WarmUpConversation is two evaluations of a built-in conversation. What the
	// reward counts and keeps while they run is there in every evaluation.
	WarmUpConversation WarmUp = "conversation"
	// WarmUpOwn is the reward's own: the export merit_warm_up, or what a script
	// marks. It may use what a start may, and takes the conversation's place.
	WarmUpOwn WarmUp = "own"
	// WarmUpOff is none: an evaluation begins where the start has ended.
	WarmUpOff WarmUp = "off"
)

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
