package registry

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"maps"
	"path"
	"slices"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/base/archive"
	"github.com/merit-rl/merit/sandbox"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// blob is data with its descriptor in the manifest.
type blob struct {
	ocispec.Descriptor
	data []byte
}

func newBlob(mediaType string, data []byte) blob {
	return blob{ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}, data}
}

// packed is an artifact before it is pushed.
type packed struct {
	config                  Config
	manifest, layer, record blob // record is the blob of config
}

func (p *packed) bytes() int64 { return p.manifest.Size + p.layer.Size + p.record.Size }

// pack creates the artifact of a reward that was run. It contains no time and nothing of
// the machine, so that the same reward gives the same bytes.
func pack(b *sandbox.Bundle, info reward.Info, said sandbox.Manifest, limits sandbox.Limits) (*packed, error) {
	p := &packed{config: Config{
		Name: info.Name, Version: said.Version, Description: said.Description,
		Language: languages[path.Ext(b.Entry)], ABI: info.ABI, Digest: b.Digest, Runner: b.Runner, Entry: b.Entry,
		Function: b.Reference.Function, With: b.Reference.With,
	}}
	data, title := b.Files[b.Entry], b.Entry
	if b.Script() {
		var err error
		if data, err = tarGzip(b.Files); err != nil {
			return nil, err
		}
		// Pull enforces the same limit.
		if _, err := archive.Exact(bytes.NewReader(data), bytesOf(limits.ScriptMiB)); err != nil {
			return nil, unpackable(b.Reference.Path, err)
		}
		title = "reward.tar.gz"
	}
	p.layer = newBlob(p.config.layerType(), data)
	p.layer.Annotations = map[string]string{ocispec.AnnotationTitle: title}
	text, err := json.Marshal(p.config)
	if err != nil {
		return nil, err
	}
	p.record = newBlob(ConfigType, text)
	if _, err := readConfig(text); err != nil {
		return nil, &fault.Error{Boundary: fault.Registry, Kind: fault.Refused, Where: b.Reference.Path, What: "the reward's description of itself is too long or not text", Err: err, Hint: "shorten name, version or description"}
	}
	manifest, err := json.Marshal(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, ArtifactType: ArtifactType,
		Config: p.record.Descriptor, Layers: []ocispec.Descriptor{p.layer.Descriptor}, Annotations: p.config.annotations(),
	})
	p.manifest = newBlob(ocispec.MediaTypeImageManifest, manifest)
	return p, err
}

// annotations returns the annotations that registries show to people.
func (c Config) annotations() map[string]string {
	all := map[string]string{ocispec.AnnotationTitle: c.Name}
	if c.Version != "" {
		all[ocispec.AnnotationVersion] = c.Version
	}
	if c.Description != "" {
		all[ocispec.AnnotationDescription] = c.Description
	}
	return all
}

// tarGzip packs files, sorted by name, all with the same mode and without time or
// owner.
func tarGzip(files map[string][]byte) ([]byte, error) {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	archive := tar.NewWriter(zip)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(files[name])), Mode: 0o644}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(files[name]); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	if err := zip.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func bytesOf(mib int) int64 { return int64(mib) << 20 }
