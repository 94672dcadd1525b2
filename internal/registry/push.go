package registry

import (
	"bytes"
	"context"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/built"
	"github.com/merit-rl/merit/sandbox"
)

// Push reads the reward that ref names, loads it in the sandbox, and stores it at to:
// registry/repository[:tag|@sha256:…]; the default tag is latest. It does not push a
// reward that cannot be loaded. It does not resend blobs that the registry has, and sets
// the tag last, so that an interrupted push is never visible. The error is a
// *fault.Error, or the cause of ctx.
func Push(ctx context.Context, ref sandbox.Reference, to string, o Options) (Artifact, error) {
	c, err := o.client(to)
	if err != nil {
		return Artifact{}, err
	}
	defer c.close()
	p, err := c.load(ctx, ref)
	if err != nil {
		return Artifact{}, err
	}
	digest := p.manifest.Digest.String()
	if _, err := c.ref.Digest(); err == nil && c.ref.Reference != digest {
		return Artifact{}, &fault.Error{
			Boundary: fault.CLI, Kind: fault.Invalid, Where: c.ref.String(), What: "the artifact of this reward has another digest: " + digest,
			Hint: "use a tag, or the digest of this reward",
		}
	}
	if err := c.explain(ctx, c.send(ctx, p)); err != nil {
		return Artifact{}, err
	}
	return Artifact{Reference: c.ref.String(), Pinned: pinned(c.ref, digest), Digest: digest, Bytes: p.bytes(), Reward: p.config}, nil
}

// load runs the reward once, and packs it.
func (c *client) load(ctx context.Context, ref sandbox.Reference) (*packed, error) {
	if err := built.Check(ref.Path); err != nil {
		return nil, err
	}
	b, err := sandbox.ReadBundle(ref, c.Sandbox.Limits)
	if err != nil {
		return nil, err
	}
	r, err := sandbox.New(ctx, c.Sandbox)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close(context.WithoutCancel(ctx)) }()
	m, err := r.LoadBundle(ctx, b)
	if err != nil {
		return nil, err
	}
	return pack(b, m.Info(), m.Manifest(), c.Sandbox.Limits)
}

// send stores what the registry does not have.
func (c *client) send(ctx context.Context, p *packed) error {
	for _, part := range []blob{p.layer, p.record} {
		there, err := c.repo.Blobs().Exists(ctx, part.Descriptor)
		if err != nil {
			return err
		}
		if there {
			continue
		}
		if err := c.repo.Blobs().Push(ctx, part.Descriptor, bytes.NewReader(part.data)); err != nil {
			return err
		}
	}
	return c.repo.PushReference(ctx, p.manifest.Descriptor, bytes.NewReader(p.manifest.data), c.ref.Reference)
}
