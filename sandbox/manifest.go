package sandbox

import "github.com/merit-rl/merit/sandbox/abi"

// Manifest is a module's description of itself.
type Manifest = abi.Manifest

// WarmUp is what runs once, before the snapshot from which every evaluation
// starts.
type WarmUp = abi.WarmUp

// The kinds of warm-up: two evaluations of a built-in conversation, the
// reward's own, or none.
const (
	WarmUpConversation = abi.WarmUpConversation
	WarmUpOwn          = abi.WarmUpOwn
	WarmUpOff          = abi.WarmUpOff
)

// ManifestSection is the name of the custom section that holds the manifest.
const ManifestSection = abi.ManifestSection

// WithManifest returns the module with m as its manifest. If the module already
// has a manifest, it then has two and is rejected at load.
func WithManifest(wasm []byte, m Manifest) ([]byte, error) { return abi.WithManifest(wasm, m) }
