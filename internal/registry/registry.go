// Package registry pushes rewards to and pulls them from registries of the OCI
// distribution specification 1.1, which includes every container registry. A reward is
// an image manifest of the type ArtifactType with one layer: a module unchanged, or the
// files of a script, exactly those that the reward's digest covers. The same reward
// gives the same bytes, so that pushing it again gives the same digest.
//
// A registry is not trusted: sizes are limited before anything is read, the digest of
// every blob is verified, and archives are unpacked in memory. The files on disk have
// the digest of the pushed reward, or nothing is written.
package registry

import (
	"time"

	"github.com/merit-rl/merit/sandbox"
)

// Media types of the artifacts.
const (
	ArtifactType = "application/vnd.merit.reward.v1"
	ConfigType   = "application/vnd.merit.reward.config.v1+json"
	ModuleType   = "application/wasm"
	ScriptType   = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// Options configures access to a registry. The zero value takes credentials from
// Docker's configuration, and uses HTTPS except for this machine.
type Options struct {
	// Username and Password replace Docker's configuration
	// ($DOCKER_CONFIG/config.json or ~/.docker/config.json, with its helpers).
	Username, Password string
	// Scheme is https or http. Empty means http for localhost and loopback addresses
	// without a CAFile, and https otherwise.
	Scheme string
	// CAFile has the certificates, in PEM, of authorities to trust in addition to
	// those of the system.
	CAFile string
	// Stall is the maximum time in which neither side sends a byte; 0 means 30 seconds.
	Stall time.Duration
	// Sandbox sets the size limits, and runs a reward once before a push. The zero
	// value means sandbox.DefaultConfig.
	Sandbox sandbox.Config
	// Progress, if not nil, receives the transferred bytes of the layer; the count
	// restarts when a transfer does. Calls are not concurrent.
	Progress func(done, total int64)
}

func (o Options) withDefaults() Options {
	if o.Stall <= 0 {
		o.Stall = 30 * time.Second
	}
	if o.Sandbox.Fuel == 0 {
		o.Sandbox = sandbox.DefaultConfig()
	}
	if o.Progress == nil {
		o.Progress = func(int64, int64) {}
	}
	return o
}

// Artifact is a reward in a registry.
type Artifact struct {
	// Reference is registry/repository:tag, or …@sha256:… if no tag was given.
	Reference string `json:"reference"`
	// Pinned is registry/repository@sha256:…, which always refers to the same bytes.
	Pinned string `json:"pinned"`
	// Digest is the digest of the manifest: the part of Pinned after the @.
	Digest string `json:"digest"`
	// Bytes is the size of manifest, configuration and layer.
	Bytes int64 `json:"bytes"`
	// Reward is the artifact's configuration.
	Reward Config `json:"reward"`
}
