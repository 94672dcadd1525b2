package sandbox

import "github.com/merit-rl/merit/sandbox/abi"

// Manifest is what a module says about itself.
type Manifest = abi.Manifest

// WarmUp says what is run once, before the snapshot that every evaluation
// begins from.
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

// WithManifest returns the module with m as its manifest. A module that has
// one already keeps it and is refused at load: a manifest is said once.
func WithManifest(wasm []byte, m Manifest) ([]byte, error) { return abi.WithManifest(wasm, m) }
