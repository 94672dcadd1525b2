package promote

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
)

// lock locks the folder for a change, and creates it if it does not exist.
func lock(dir string) (release func() error, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, storage(dir, "cannot be written", err)
	}
	return run.Lock(filepath.Join(dir, lockFile), "another process is changing this promotion folder", "wait until it has finished, check the state, and retry")
}

// vacant prepares dir, which is not a promotion folder yet. It removes versions of an
// interrupted promotion, which have a lock file next to them.
func vacant(dir string) error {
	_, missing := os.Lstat(filepath.Join(dir, lockFile))
	if _, err := os.Lstat(filepath.Join(dir, versionsDir)); err != nil || missing == nil {
		return nil
	}
	return &fault.Error{
		Boundary: fault.Storage, Kind: fault.Refused, Where: filepath.Join(dir, versionsDir), What: "already exists and was not created by a promotion",
		Hint: "use another folder; Merit creates it if it does not exist",
	}
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return storage(from, "cannot be read", err)
	}
	return writeFile(to, data)
}

func writeFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return storage(path, "cannot be written", err)
	}
	if err := renameio.WriteFile(path, data, 0o644, renameio.WithTempDir(filepath.Dir(path))); err != nil {
		return storage(path, "cannot be written", err)
	}
	return nil
}

func storage(path, what string, err error) error {
	e := &fault.Error{Boundary: fault.Storage, Kind: fault.Invalid, Where: path, What: what, Err: err, Hint: "check the disk and the path"}
	if errors.Is(err, fs.ErrNotExist) {
		e.Kind, e.Hint = fault.Missing, "check the path; merit policy promote creates such a folder"
	}
	return e
}
