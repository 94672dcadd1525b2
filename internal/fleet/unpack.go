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

// maxUnpacked is how many bytes the files of a bundle may have together.
const maxUnpacked = 4 * queue.MaxBlob

// Unpack opens the session of a bundle, whose files it lays below dir. It is an
// error if the session is not made of what it was made of where it was packed.
//
// It gets what is lent, and is refused before anything of it runs if it wants more.
func Unpack(ctx context.Context, bundle io.Reader, dir string, lent Lent, opts ...merit.Option) (*merit.Session, error) {
	links, err := extract(ctx, bundle, dir)
	if err != nil {
		return nil, damaged(err)
	}
	about, err := os.ReadFile(filepath.Join(dir, madeName))
	if err != nil {
		return nil, damaged(err)
	}
	cfg, err := merit.LoadPartial(filepath.Join(dir, configName))
	if err != nil {
		return nil, err
	}
	if err := confine(cfg, dir, links, lent); err != nil {
		return nil, err
	}
	if lent.Plugins != nil {
		cfg.Plugins.Allow = both(cfg.Plugins.Allow, lent.Plugins)
	}
	s, err := openAny(ctx, cfg, opts)
	if err != nil {
		return nil, err
	}
	here, err := json.Marshal(madeOf(s))
	if err == nil && !bytes.Equal(here, about) {
		err = &fault.Error{
			Boundary: fault.Fleet, Kind: fault.Differs, Where: "job", What: fmt.Sprintf("it is made of %.400s here, and of %.400s where it comes from", here, about),
			Hint: "use the same build of Merit, and the same interpreters, on all machines",
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// both are the digests that are on two lists, of which the first is all if it is
// empty. It is never empty, which would be all: a digest that nothing has stands
// for none.
func both(a, b []string) []string {
	list := []string{"sha256:" + strings.Repeat("0", 64)}
	for _, digest := range b {
		if len(a) == 0 || slices.Contains(a, digest) {
			list = append(list, digest)
		}
	}
	return list
}

// openAny opens the session of cfg, or only its rewards if there is nothing to play.
func openAny(ctx context.Context, cfg *merit.Config, opts []merit.Option) (*merit.Session, error) {
	if cfg.Environment.Plugin != "" {
		return merit.Open(ctx, cfg, opts...)
	}
	r, err := merit.LoadRewards(ctx, cfg.Sandbox, cfg.Rewards, opts...)
	if err != nil {
		return nil, cfg.Places.Explain("", err)
	}
	return &merit.Session{Rewards: r, Config: cfg}, nil
}

// extract lays the files of a bundle below dir, and none anywhere else. It returns
// the names of its links.
func extract(ctx context.Context, bundle io.Reader, dir string) (links []string, err error) {
	z, err := zstd.NewReader(bundle, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(64<<20))
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
		if errors.Is(err, io.EOF) { // who gave it says only at its end that it is what was asked for
			_, err = io.Copy(io.Discard, bundle)
			return links, err
		}
		if err == nil && n > maxFiles {
			err = errors.New("it has too many files")
		}
		// A sparse file is larger than what it has in the archive.
		if err == nil && (h.Size < 0 || h.Size > left) {
			err = errors.New("its files are too large")
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

// place makes one file or link.
func place(root *os.Root, h *tar.Header, content io.Reader) error {
	if !filepath.IsLocal(h.Name) {
		return fmt.Errorf("%.80q is no name of a file in it", h.Name)
	}
	if err := root.MkdirAll(path.Dir(h.Name), 0o755); err != nil {
		return err
	}
	if h.Typeflag == tar.TypeSymlink {
		if !strings.HasPrefix(path.Clean(h.Name), "files/") {
			return fmt.Errorf("%.80q is a link", h.Name)
		}
		return root.Symlink(h.Linkname, h.Name)
	}
	if h.Typeflag != tar.TypeReg {
		return fmt.Errorf("%.80q is no file", h.Name)
	}
	// A program that is started meanwhile must not inherit a file that is written:
	// nobody could run it.
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
	return &fault.Error{Boundary: fault.Fleet, Kind: fault.Corrupt, Where: "job", What: "the bundle of a job cannot be unpacked", Err: err, Hint: "free some disk, or look at who sent it"}
}

func refusedJob(err error, hint string) error {
	return &fault.Error{Boundary: fault.Fleet, Kind: fault.Refused, Where: "job", What: "it asks for more than a worker gives", Err: err, Hint: hint}
}
