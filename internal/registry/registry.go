// Package registry moves rewards to and from registries of the OCI distribution
// specification 1.1, which every container registry is. A reward is an image
// manifest of the type ArtifactType with one layer: a module as it is, or the
// files of a script, exactly those that the reward's digest covers. The same
// reward makes the same bytes, so what is pushed twice has one digest.
//
// A registry is not trusted: sizes are bounded before anything is read, every
// blob is held to its digest, archives are unpacked in memory, and what lies on
// the disk in the end has the digest that its author's had, or nothing does.
package registry

import (
	"time"

	"github.com/merit-rl/merit/sandbox"
)

// Media types of what is pushed.
const (
	ArtifactType = "application/vnd.merit.reward.v1"
	ConfigType   = "application/vnd.merit.reward.config.v1+json"
	ModuleType   = "application/wasm"
	ScriptType   = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// Options say how a registry is reached. The zero value asks Docker's
// configuration for credentials, and takes HTTPS but for this machine itself.
type Options struct {
	// Username and Password are used in place of Docker's configuration
	// ($DOCKER_CONFIG/config.json or ~/.docker/config.json, with its helpers).
	Username, Password string
	// Scheme is https or http. Empty means http for localhost and loopback
	// addresses without a CAFile, https for all others.
	Scheme string
	// CAFile holds the certificates, in PEM, of authorities that are trusted
	// beside those of the system.
	CAFile string
	// Stall is how long neither side may send a byte; 0 means 30 seconds.
	Stall time.Duration
	// Sandbox bounds what is read, and runs what is pushed once. The zero value is
	// sandbox.DefaultConfig.
	Sandbox sandbox.Config
	// Progress, if any, is told how many bytes of the layer have been moved; it
	// begins again when a transfer does. Calls come one at a time.
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
	// Reference is registry/repository:tag, or …@sha256:… where no tag was named.
	Reference string `json:"reference"`
	// Pinned is registry/repository@sha256:…, which always means the same bytes.
	Pinned string `json:"pinned"`
	// Digest is that of the manifest: the part of Pinned behind the @.
	Digest string `json:"digest"`
	// Bytes is the size of manifest, configuration and layer.
	Bytes int64 `json:"bytes"`
	// Reward is what the artifact says of its reward.
	Reward Config `json:"reward"`
}
