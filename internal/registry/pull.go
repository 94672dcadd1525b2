package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/archive"
	"github.com/merit-rl/merit/internal/base/strictjson"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
)

// mostManifest is the maximum size of a manifest and of a configuration, in bytes.
const mostManifest = 256 << 10

// Target is where Pull puts a reward.
type Target struct {
	// Path is the path of the module, of the script's file, whose name the digest
	// covers, or of the folder. Empty means a name in the working directory: a module
	// is named after the repository, and a script keeps its file name.
	Path string
	// Replace allows replacing an existing reward at Path. A folder with files that are
	// not part of a reward is never replaced.
	Replace bool
}

// Pulled is a reward that was pulled from a registry.
type Pulled struct {
	Artifact
	// Path is where the reward was written.
	Path string `json:"path"`
	// Here is the reward's digest in this version of Merit. It differs from the digest
	// in Reward, which Pull verifies, only if the other version of Merit has different
	// interpreters or built-in files (Config.Runner), which may change
	// results.
	Here string `json:"digest_here"`
}

// Pull fetches the reward at from, registry/repository[:tag|@sha256:…], and writes it to
// the target in one step. It verifies the digest of each blob, and that of the reward
// against the one at its push. The error is a *fault.Error, or the cause of ctx; if
// there is an error, nothing was written.
func Pull(ctx context.Context, from string, to Target, o Options) (Pulled, error) {
	c, err := o.client(from)
	if err != nil {
		return Pulled{}, err
	}
	defer c.close()
	p, err := c.receive(ctx)
	if err != nil {
		return Pulled{}, err
	}
	at, err := c.destination(p.config, to)
	if err != nil {
		return Pulled{}, err
	}
	if err := to.free(at, c.Sandbox.Limits); err != nil {
		return Pulled{}, err
	}
	files, err := c.open(ctx, p)
	if err != nil {
		return Pulled{}, err
	}
	here, err := c.place(p.config, files, at, to)
	if err != nil {
		return Pulled{}, err
	}
	digest := p.manifest.Digest.String()
	a := Artifact{Reference: c.ref.String(), Pinned: pinned(c.ref, digest), Digest: digest, Bytes: p.bytes(), Reward: p.config}
	return Pulled{Artifact: a, Path: at, Here: here}, nil
}

// receive fetches and checks the manifest and the configuration.
func (c *client) receive(ctx context.Context) (*packed, error) {
	desc, err := c.repo.Resolve(ctx, c.ref.Reference)
	if err != nil {
		return nil, c.explain(ctx, err)
	}
	switch {
	case desc.MediaType == ocispec.MediaTypeImageIndex || strings.Contains(desc.MediaType, "manifest.list"):
		return nil, c.foreign(fault.Refused, "it is an index of several artifacts", "pass the digest of the artifact that is the reward", nil)
	case desc.MediaType != ocispec.MediaTypeImageManifest:
		return nil, c.foreign(fault.Refused, "it is not a reward but "+archive.Quote(desc.MediaType), notAReward, nil)
	}
	p := &packed{}
	if p.manifest, err = c.fetch(ctx, c.repo.Manifests(), desc, mostManifest); err != nil {
		return nil, err
	}
	config, layer, err := c.check(p.manifest.data)
	if err != nil {
		return nil, err
	}
	if p.record, err = c.fetch(ctx, c.repo.Blobs(), config, mostManifest); err != nil {
		return nil, err
	}
	if p.config, err = readConfig(p.record.data); err != nil {
		return nil, c.foreign(fault.Refused, "its configuration is not a reward's", notAReward, err)
	}
	most := bytesOf(c.Sandbox.ScriptMiB)
	if p.config.module() {
		most = bytesOf(c.Sandbox.ModuleMiB)
	}
	if want := p.config.layerType(); layer.MediaType != want {
		return nil, c.foreign(fault.Refused, fmt.Sprintf("its layer is %s, but must be %s", archive.Quote(layer.MediaType), want), notAReward, nil)
	}
	p.layer.Descriptor = layer
	return p, c.bounded(layer, most)
}

// bounded checks the declared size of a part against its limit.
func (c *client) bounded(desc ocispec.Descriptor, most int64) error {
	if desc.Size >= 0 && desc.Size <= most {
		return nil
	}
	return c.foreign(fault.Exhausted, fmt.Sprintf("a part of it has a declared size of %d bytes; the maximum is %d", desc.Size, most), "raise sandbox.module_mib or sandbox.script_mib to pull a larger reward", nil)
}

const notAReward = "use the reference that the reward was pushed to"

// check checks that a manifest has the form of a reward's.
func (c *client) check(text []byte) (config, layer ocispec.Descriptor, err error) {
	var m ocispec.Manifest
	switch err := strictjson.Unmarshal(text, &m); {
	case err != nil:
		return config, layer, c.foreign(fault.Refused, "its manifest is invalid", notAReward, err)
	case m.ArtifactType != ArtifactType || m.Config.MediaType != ConfigType:
		kind := m.ArtifactType
		if kind == "" {
			kind = m.Config.MediaType
		}
		return config, layer, c.foreign(fault.Refused, "it is not a reward but "+archive.Quote(kind), notAReward, nil)
	case len(m.Layers) != 1:
		return config, layer, c.foreign(fault.Refused, fmt.Sprintf("it has %d layers, but a reward has one", len(m.Layers)), notAReward, nil)
	}
	return m.Config, m.Layers[0], nil
}

// fetch reads a blob of at most most bytes, and retries if the connection is
// lost.
func (c *client) fetch(ctx context.Context, from content.Fetcher, desc ocispec.Descriptor, most int64) (blob, error) {
	if err := c.bounded(desc, most); err != nil {
		return blob{}, err
	}
	for try := 1; ; try++ {
		data, err := c.read(ctx, from, desc)
		if err == nil {
			return blob{desc, data}, nil
		}
		if errors.Is(err, errdef.ErrNotFound) {
			return blob{}, c.foreign(fault.Corrupt, "the registry has lost a part of it: "+desc.Digest.String(), "push it again", nil)
		}
		if try == tries || !brokeOff(err) || !sleep(ctx, time.Duration(try)*patienceStep) {
			return blob{}, c.explain(ctx, err)
		}
	}
}

// patienceStep is the increase of the wait from one retry to the next.
const patienceStep = 250 * time.Millisecond

func (c *client) read(ctx context.Context, from content.Fetcher, desc ocispec.Descriptor) ([]byte, error) {
	if err := desc.Digest.Validate(); err != nil {
		return nil, c.foreign(fault.Refused, "it refers to a part by an invalid digest", notAReward, err)
	}
	in, err := from.Fetch(ctx, desc)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if desc.Size <= shown {
		return content.ReadAll(in, desc)
	}
	return content.ReadAll(&moved{in: in, total: desc.Size, tell: c.Progress}, desc)
}

// brokeOff reports whether retrying a transfer may succeed.
func brokeOff(err error) bool {
	var network net.Error
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.As(err, &network) && network.Timeout()
}

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// open fetches the layer of an artifact and returns its files.
func (c *client) open(ctx context.Context, p *packed) (files map[string][]byte, err error) {
	if p.layer, err = c.fetch(ctx, c.repo.Blobs(), p.layer.Descriptor, p.layer.Size); err != nil {
		return nil, err
	}
	if p.config.module() {
		return map[string][]byte{p.config.Entry: p.layer.data}, nil
	}
	files, err = archive.Exact(bytes.NewReader(p.layer.data), bytesOf(c.Sandbox.ScriptMiB))
	if err != nil {
		return nil, unpackable(c.ref.String(), err)
	}
	_, there := files[p.config.Entry]
	switch {
	case !there:
		return nil, c.foreign(fault.Refused, "its files do not include "+p.config.Entry, notAReward, nil)
	case len(files) > 1 && !p.config.folder():
		return nil, c.foreign(fault.Refused, "it has files other than "+p.config.Entry+", which is a single-file script", notAReward, nil)
	}
	return files, nil
}
