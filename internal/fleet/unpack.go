package fleet

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/klauspost/compress/zstd"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/fleet/queue"
	"github.com/merit-rl/merit/sdk/merit"
)

// maxUnpacked is the largest total size of the files of a package, in bytes.
const maxUnpacked = 4 * queue.MaxBlob

// Unpack extracts a package into dir and opens its session. It returns an error if the session
// consists of other parts here than where it was packed.
//
// The job gets only what grants allows. If it wants more, Unpack refuses it before any of its
// code runs.
func Unpack(ctx context.Context, packed io.Reader, dir string, grants Grants, opts ...merit.Option) (*merit.Session, error) {
	links, err := extract(ctx, packed, dir)
	if err != nil {
		return nil, damaged(err)
	}
	about, err := os.ReadFile(filepath.Join(dir, partsName))
	if err != nil {
		return nil, damaged(err)
	}
	cfg, err := merit.LoadPartial(filepath.Join(dir, configName))
	if err != nil {
		return nil, err
	}
	if err := confine(cfg, dir, links, grants); err != nil {
		return nil, err
	}
	if grants.Plugins != nil {
		cfg.Plugins.Allow = both(cfg.Plugins.Allow, grants.Plugins)
	}
	s, err := openAny(ctx, cfg, opts)
	if err != nil {
		return nil, err
	}
	here, err := json.Marshal(partsOf(s))
	if err == nil && !bytes.Equal(here, about) {
		err = &fault.Error{
			Boundary: fault.Fleet, Kind: fault.Differs, Where: "job", What: fmt.Sprintf("the job consists of %.400s here, but of %.400s at the coordinator", here, about),
			Hint: "use the same build of Merit, and the same interpreters, on all machines",
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// both returns the digests that are on both lists; an empty a means all. The result is never
// empty, because that would allow all plug-ins: it starts with a digest that no plug-in has.
func both(a, b []string) []string {
	list := []string{"sha256:" + strings.Repeat("0", 64)}
	for _, digest := range b {
		if len(a) == 0 || slices.Contains(a, digest) {
			list = append(list, digest)
		}
	}
	return list
}

// openAny opens the session of cfg, or only its rewards if cfg has no environment.
func openAny(ctx context.Context, cfg *merit.Config, opts []merit.Option) (*merit.Session, error) {
	if cfg.Environment.Named() {
		return merit.Open(ctx, cfg, opts...)
	}
	r, err := merit.LoadRewards(ctx, cfg.Sandbox, cfg.Rewards, opts...)
	if err != nil {
		return nil, cfg.Places.Explain("", err)
	}
	return &merit.Session{Rewards: r, Config: cfg}, nil
}

// extract writes the files of a package into dir, and nowhere else. It returns the names of its
// links.
func extract(ctx context.Context, packed io.Reader, dir string) (links []string, err error) {
	z, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(64<<20))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	t := tar.NewReader(io.LimitReader(z, maxUnpacked))
	left := int64(maxUnpacked)
	for n := 0; ; n++ {
		h, err := t.Next()
		if errors.Is(err, io.EOF) { // reading to the end makes the source verify the digest
			_, err = io.Copy(io.Discard, packed)
			return links, err
		}
		if err == nil && n > maxFiles {
			err = errors.New("the bundle has too many files")
		}
		// A sparse file can be larger than its bytes in the archive.
		if err == nil && (h.Size < 0 || h.Size > left) {
			err = errors.New("the files of the bundle are too large")
		}
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = place(root, h, t)
		}
		if err != nil {
			return nil, err
		}
		left -= h.Size
		if h.Typeflag == tar.TypeSymlink {
			links = append(links, path.Clean(h.Name))
		}
	}
}

// place creates one file or link.
func place(root *os.Root, h *tar.Header, content io.Reader) error {
	if !filepath.IsLocal(h.Name) {
		return fmt.Errorf("%.80q is not a valid file name in a bundle", h.Name)
	}
	if err := root.MkdirAll(path.Dir(h.Name), 0o755); err != nil {
		return err
	}
	if h.Typeflag == tar.TypeSymlink {
		if !strings.HasPrefix(path.Clean(h.Name), "files/") {
			return fmt.Errorf("%.80q is a link outside files/", h.Name)
		}
		return root.Symlink(h.Linkname, h.Name)
	}
	if h.Typeflag != tar.TypeReg {
		return fmt.Errorf("%.80q is not a regular file", h.Name)
	}
	// Hold the fork lock: a process started now would inherit the open file, and then nobody
	// could execute the file.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	f, err := root.OpenFile(h.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, os.FileMode(h.Mode&0o755))
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}

func damaged(err error) error {
	return &fault.Error{Boundary: fault.Fleet, Kind: fault.Corrupt, Where: "job", What: "the bundle of a job cannot be unpacked", Err: err, Hint: "free disk space, or check who sent it"}
}

func refusedJob(err error, hint string) error {
	return &fault.Error{Boundary: fault.Fleet, Kind: fault.Refused, Where: "job", What: "the job asks for more than this worker allows", Err: err, Hint: hint}
}
