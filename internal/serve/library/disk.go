package library

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"

	"github.com/google/renameio/v2"

	"github.com/merit-rl/merit/core/fault"
)

// All that is written here is on the disk, with the folders that name it,
// before anything says so.

// writeFolder makes a folder with files; their names are clean.
func writeFolder(dir string, files map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	folders := map[string]bool{".": true}
	for name, data := range files {
		for at := path.Dir(name); !folders[at]; at = path.Dir(at) {
			folders[at] = true
		}
		if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
			return err
		}
		if err := writeNew(root, name, data); err != nil {
			return err
		}
	}
	for at := range folders {
		if err := syncFolder(filepath.Join(dir, at)); err != nil {
			return err
		}
	}
	return nil
}

func writeNew(root *os.Root, name string, data []byte) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// readFolder reads what writeFolder wrote. What is no regular file is not read:
// the digest is then another one. No more than limit bytes are.
func readFolder(dir string, limit int64) (map[string][]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	files := map[string][]byte{}
	return files, fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := root.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, limit+1))
		if limit -= int64(len(data)); limit < 0 {
			return errors.New("it is larger than it was")
		}
		files[name] = data
		return err
	})
}

// replaceFile writes a file in one step.
func replaceFile(file string, data []byte) error {
	dir := filepath.Dir(file)
	if err := renameio.WriteFile(file, data, 0o600, renameio.WithTempDir(dir)); err != nil {
		return err
	}
	return syncFolder(dir)
}

func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// failed says what the disk refused: of the kind Exhausted where it is full,
// which may pass.
func failed(what string, err error) error {
	if err == nil {
		return nil
	}
	e := &fault.Error{Boundary: fault.Storage, Kind: fault.Crashed, Where: "the server's library", What: what, Err: withoutPath(err), Hint: "tell the operator: the server's disk needs a look"}
	if full(err) {
		e.Kind, e.Retry, e.Hint = fault.Exhausted, true, "tell the operator: the server's disk is full; nothing was half-written"
	}
	return e
}

// full reports whether the disk has no room.
func full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// withoutPath is what the operating system said, without where.
func withoutPath(err error) error {
	if p := new(fs.PathError); errors.As(err, &p) {
		return p.Err
	}
	if l := new(os.LinkError); errors.As(err, &l) {
		return l.Err
	}
	return err
}
