package fleet

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/merit-rl/merit/core/config"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/fleet/queue"
	"github.com/merit-rl/merit/internal/host/disk"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sdk/merit"
)

// Package is a session in one file: its configuration and every file that the configuration
// names, in numbered folders. Equal sessions give equal bytes, wherever their files are.
// Addresses of servers stay addresses, and a package never holds secrets. The file has no name
// on disk, so it disappears when the last holder closes it. Messages and docs/ call it a bundle.
type Package struct {
	Digest queue.Digest
	file   *os.File
	size   int64
}

// Open returns a reader of the whole package.
func (b *Package) Open() io.Reader { return io.NewSectionReader(b.file, 0, b.size) }

// Content returns the package as a content that shards can need.
func (b *Package) Content() queue.Content {
	return queue.Content{Digest: b.Digest, Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(b.Open()), nil }}
}

// The members of a package besides the files that the configuration names.
const (
	configName = "config.yaml"
	partsName  = "made-of.json"
)

// parts lists what a session consists of. The worker compares it with its own list to check that
// it opened the same session.
type parts struct {
	Rewards []run.Module `json:"rewards"`
	Plugins []run.Plugin `json:"plugins"`
}

func partsOf(s *merit.Session) parts {
	m := s.Manifest()
	return parts{Rewards: m.Rewards, Plugins: m.Plugins}
}

// Pack makes the package of s. A session without an environment becomes a package of rewards
// only. Pack returns an error if s contains something that cannot be sent.
func Pack(s *merit.Session) (*Package, error) {
	if err := errors.Join(s.Sendable(), recordless(s)); err != nil {
		return nil, err
	}
	p := packing{limits: s.Config.Sandbox.Limits, files: map[string]member{}}
	cfg, err := p.config(s)
	if err != nil {
		return nil, err
	}
	text, err := config.Marshal(cfg)
	if err != nil {
		return nil, err
	}
	about, err := json.Marshal(partsOf(s))
	if err != nil {
		return nil, err
	}
	p.files[configName], p.files[partsName] = member{data: text}, member{data: about}
	f, err := os.CreateTemp("", "merit-bundle-")
	if err != nil {
		return nil, storageError(err)
	}
	b := &Package{file: f}
	if err = errors.Join(os.Remove(f.Name()), p.write(f)); err == nil {
		b.Digest, b.size, err = queue.DigestOf(io.NewSectionReader(f, 0, math.MaxInt64))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return b, nil
}

// recordless returns an error if an environment of s records what a server of MCP answers: a
// worker would add the answers to its copy of the recording, and delete the copy with the job.
func recordless(s *merit.Session) error {
	paths, _, err := s.PluginPaths()
	if err != nil {
		return err
	}
	record := func(i int, options map[string]any) bool {
		return path.Base(strings.TrimPrefix(paths[i], disk.BuiltIn)) == "mcp" && options["mode"] == "record"
	}
	e := s.Config.Environment
	problem := &fault.Error{
		Boundary: fault.Config, Kind: fault.Invalid, What: "is record, but workers of a fleet cannot add to the recording on this machine",
		Hint: "run once without a fleet to record the answers, then set mode: replay",
	}
	for i, part := range e.Mixture {
		if record(i, part.Options) {
			problem.Where = fmt.Sprintf("environment.mixture[%d].options.mode", i)
		}
	}
	if len(e.Mixture) == 0 && record(0, e.Options) {
		problem.Where = "environment.options.mode"
	}
	if problem.Where == "" {
		return nil
	}
	return s.Config.Places.Explain("", problem)
}

// packing collects the files of a package.
type packing struct {
	limits sandbox.Limits
	files  map[string]member // by slash-separated name
	roots  int
	size   int64 // of the files on disk
}

// member is one member of a package: bytes, a file on disk, or a link.
type member struct {
	data       []byte
	path, link string
	executable bool
}

// config returns the configuration of s with paths replaced by names in the package. Settings
// that do not affect playing and scoring get their defaults.
func (p *packing) config(s *merit.Session) (*merit.Config, error) {
	cfg, d := *s.Config, merit.DefaultConfig()
	cfg.Fleet, cfg.Traces, cfg.PPO, cfg.Train, cfg.Evidence, cfg.Save, cfg.Monitor = d.Fleet, d.Traces, d.PPO, d.Train, d.Evidence, d.Save, d.Monitor
	cfg.Sandbox.CacheDir, cfg.Sandbox.InterpreterDir, cfg.Rollout.Parallel = "", "", 0 // each worker uses its own
	var errs []error
	add := func(path string) string {
		name, err := p.add(path)
		errs = append(errs, err)
		return name
	}
	cfg.Rewards = slices.Clone(cfg.Rewards)
	for i := range cfg.Rewards {
		errs = append(errs, p.reward(&cfg.Rewards[i]))
	}
	environments, policy, err := s.PluginPaths()
	errs = append(errs, err)
	plugin := func(at string, plugin *string, options *map[string]any) {
		name, err := p.plugin(at)
		errs = append(errs, err)
		*plugin = "" // an empty path, so that EachPluginPath visits only the paths in the options
		merit.EachPluginPath(plugin, options, add)
		*plugin = name
	}
	cfg.Environment.Mixture = slices.Clone(cfg.Environment.Mixture)
	for i := range cfg.Environment.Mixture {
		part := &cfg.Environment.Mixture[i]
		plugin(environments[i], &part.Plugin, &part.Options)
		part.Module = ""
	}
	if len(cfg.Environment.Mixture) == 0 {
		plugin(environments[0], &cfg.Environment.Plugin, &cfg.Environment.Options)
		cfg.Environment.Module = ""
	}
	if cfg.Environment.Harbor != "" {
		cfg.Environment.Harbor, err = p.tasks(cfg.Environment.Harbor)
		errs = append(errs, err)
	}
	plugin(policy, &cfg.Policy.Plugin, &cfg.Policy.Options)
	return &cfg, errors.Join(errs...)
}

// write writes the archive with sorted names and without times and owners, so that its bytes
// are reproducible.
func (p *packing) write(w io.Writer) error {
	z, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, name := range slices.Sorted(maps.Keys(p.files)) {
		if err := p.files[name].write(t, name); err != nil {
			return errors.Join(err, z.Close())
		}
	}
	return errors.Join(t.Close(), z.Close())
}

func (m member) write(t *tar.Writer, name string) error {
	h := tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Format: tar.FormatPAX}
	if m.executable {
		h.Mode = 0o755
	}
	if m.link != "" {
		h.Typeflag, h.Linkname = tar.TypeSymlink, m.link
		return t.WriteHeader(&h)
	}
	var content io.Reader = bytes.NewReader(m.data)
	h.Size = int64(len(m.data))
	if m.path != "" {
		f, err := os.Open(m.path)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		content, h.Size = f, info.Size()
	}
	err := t.WriteHeader(&h)
	if err == nil {
		_, err = io.CopyN(t, content, h.Size)
	}
	return err
}

// named returns name in a new numbered folder of the package.
func (p *packing) named(name string) string {
	p.roots++
	return path.Join("files", strconv.Itoa(p.roots), name)
}
