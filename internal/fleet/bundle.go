package fleet

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math"
	"os"
	"path"
	"slices"
	"strconv"

	"github.com/klauspost/compress/zstd"

	"github.com/merit-rl/merit/core/config"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/fleet/queue"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sdk/merit"
)

// Bundle is what a session is made of, as one file: its configuration, and every
// file that it names, below folders that have numbers. Equal sessions are equal
// bytes, wherever their files lie. What a server answers for stays an address, and
// secrets are never in it. The file has no name: it goes with the last who holds it.
type Bundle struct {
	Digest queue.Digest
	file   *os.File
	size   int64
}

// Open reads the bundle from its beginning.
func (b *Bundle) Open() io.Reader { return io.NewSectionReader(b.file, 0, b.size) }

// Content is the bundle as what shards need.
func (b *Bundle) Content() queue.Content {
	return queue.Content{Digest: b.Digest, Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(b.Open()), nil }}
}

// The members of a bundle that are no files of the configuration.
const (
	configName = "config.yaml"
	madeName   = "made-of.json"
)

// made says what a session is made of, so that who opens it elsewhere can tell
// that it is the same.
type made struct {
	Rewards []run.Module `json:"rewards"`
	Plugins []run.Plugin `json:"plugins"`
}

func madeOf(s *merit.Session) made {
	m := s.Manifest()
	return made{Rewards: m.Rewards, Plugins: m.Plugins}
}

// Pack makes the bundle of s; a session without an environment is a bundle of
// rewards. It is an error if s has what cannot be sent.
func Pack(s *merit.Session) (*Bundle, error) {
	if err := s.Sendable(); err != nil {
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
	about, err := json.Marshal(madeOf(s))
	if err != nil {
		return nil, err
	}
	p.files[configName], p.files[madeName] = member{data: text}, member{data: about}
	f, err := os.CreateTemp("", "merit-bundle-")
	if err != nil {
		return nil, stored(err)
	}
	b := &Bundle{file: f}
	if err = errors.Join(os.Remove(f.Name()), p.write(f)); err == nil {
		b.Digest, b.size, err = queue.DigestOf(io.NewSectionReader(f, 0, math.MaxInt64))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return b, nil
}

// packing collects the files of a bundle.
type packing struct {
	limits sandbox.Limits
	files  map[string]member // by slash-separated name
	roots  int
	size   int64 // of the files that lie on the disk
}

// member is a file of a bundle: bytes, a file of the disk, or a link.
type member struct {
	data       []byte
	path, link string
	executable bool
}

// config returns the configuration of s with the names that its files have in the
// bundle. What plays no part in playing and scoring is left at its default.
func (p *packing) config(s *merit.Session) (*merit.Config, error) {
	cfg, d := *s.Config, merit.DefaultConfig()
	cfg.Fleet, cfg.Traces, cfg.PPO, cfg.Train, cfg.Evidence, cfg.Save, cfg.Monitor = d.Fleet, d.Traces, d.PPO, d.Train, d.Evidence, d.Save, d.Monitor
	cfg.Sandbox.CacheDir, cfg.Sandbox.InterpreterDir, cfg.Rollout.Parallel = "", "", 0 // a worker's own
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
	environment, policy, err := s.PluginPaths()
	errs = append(errs, err)
	for _, x := range []struct {
		at      string
		plugin  *string
		options *map[string]any
	}{{environment, &cfg.Environment.Plugin, &cfg.Environment.Options}, {policy, &cfg.Policy.Plugin, &cfg.Policy.Options}} {
		name, err := p.plugin(x.at)
		errs = append(errs, err)
		*x.plugin = "" // no path, so that only those in its options are left
		merit.EachPluginPath(x.plugin, x.options, add)
		*x.plugin = name
	}
	return &cfg, errors.Join(errs...)
}

// write writes the archive: names in order, no times, no owners.
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

// named returns a name below a folder of the bundle's own for what is called so.
func (p *packing) named(name string) string {
	p.roots++
	return path.Join("files", strconv.Itoa(p.roots), name)
}
