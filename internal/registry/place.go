package registry

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/archive"
	"github.com/merit-rl/merit/internal/base/durable"
	"github.com/merit-rl/merit/sandbox"
)

// place writes the files next to their destination, verifies their digest as an
// evaluation would read them, and moves them to the destination in one step.
func (c *client) place(config Config, files map[string][]byte, at string, to Target) (digest string, err error) {
	beside, err := os.MkdirTemp(filepath.Dir(at), ".merit-pull-")
	if err != nil {
		return "", unwritten(at, err)
	}
	defer os.RemoveAll(beside)
	fresh := filepath.Join(beside, filepath.Base(at))
	if err := write(fresh, config, files); err != nil {
		return "", unwritten(at, err)
	}
	if digest, err = c.verify(fresh, config, files); err != nil {
		return "", err
	}
	if err := to.move(fresh, at, filepath.Join(beside, "old")); err != nil {
		return "", err
	}
	return digest, nil
}

// move puts fresh at its destination, and an existing reward at old if replacing is allowed.
func (t Target) move(fresh, at, old string) error {
	if !t.Replace {
		err := os.Link(fresh, at) // a file, but does not replace another
		if errors.Is(err, fs.ErrExist) {
			return taken(at)
		} else if err != nil {
			err = os.Rename(fresh, at) // a folder, but does not replace one with files
		}
		if err != nil {
			return unwritten(at, err)
		}
		return nil
	}
	if info, err := os.Lstat(fresh); err == nil && !info.IsDir() && os.Rename(fresh, at) == nil {
		return nil // in one step, but does not replace a folder
	}
	if err := os.Rename(at, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unwritten(at, err)
	}
	if err := os.Rename(fresh, at); err != nil {
		_ = os.Rename(old, at) // the first error is the one to report
		return unwritten(at, err)
	}
	return nil
}

// destination returns the path for the reward.
func (c *client) destination(config Config, to Target) (string, error) {
	name := path.Base(c.ref.Repository)
	switch {
	case config.folder():
	case config.module():
		name += ".wasm"
	default:
		name = config.Entry
	}
	at := filepath.Clean(cmp.Or(to.Path, name))
	if base := filepath.Base(at); base == "." || base == ".." {
		var err error
		if at, err = filepath.Abs(at); err != nil {
			return "", unwritten(at, err)
		}
	}
	if !config.module() && !config.folder() && filepath.Base(at) != config.Entry {
		return "", &fault.Error{
			Boundary: fault.CLI, Kind: fault.Invalid, Where: to.Path, What: fmt.Sprintf("the file of this script must be named %s, because its digest covers the name", config.Entry),
			Hint: "use the path " + filepath.Join(filepath.Dir(to.Path), config.Entry),
		}
	}
	return at, nil
}

// free returns an error if writing to path would lose anything.
func (t Target) free(at string, limits sandbox.Limits) error {
	info, err := os.Lstat(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return unwritten(at, err)
	}
	if !t.Replace {
		return taken(at)
	}
	if !info.IsDir() {
		return nil
	}
	kept := &fault.Error{
		Boundary: fault.Storage, Kind: fault.Refused, Where: at, What: "contains files that are not part of a reward",
		Hint: "move the files elsewhere, or choose another path; nothing was written",
	}
	b, err := sandbox.ReadBundle(sandbox.Reference{Path: at}, limits)
	if err != nil || !b.Script() {
		return kept
	}
	err = filepath.WalkDir(at, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(at, path)
		if _, part := b.Files[filepath.ToSlash(name)]; err == nil && !part {
			kept.What += ": " + archive.Quote(name)
			return kept
		}
		return err
	})
	if err != nil && fault.As(err) == nil {
		err = unwritten(at, err)
	}
	return err
}

func taken(at string) error {
	return &fault.Error{Boundary: fault.Storage, Kind: fault.Refused, Where: at, Err: ErrExists, Hint: "choose another path, or replace it; nothing was written"}
}

// write creates the module, the file or the folder at path.
func write(at string, config Config, files map[string][]byte) error {
	if config.folder() {
		return durable.Folder(at, files, 0o644)
	}
	return durable.New(at, files[config.Entry], 0o644)
}

// verify reads the reward as an evaluation does: its digest must be that of the pushed
// reward, and must cover every file.
func (c *client) verify(at string, config Config, files map[string][]byte) (string, error) {
	b, err := sandbox.ReadBundle(sandbox.Reference{Path: at, Function: config.Function, With: config.With}, c.Sandbox.Limits)
	if err != nil {
		return "", c.foreign(fault.Refused, "it does not contain a reward", notAReward, err)
	}
	wrong := ""
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if _, covered := b.Files[name]; !covered && b.Script() && wrong == "" {
			wrong = "it has a file that is not part of the reward: " + archive.Quote(name)
		}
	}
	switch {
	case b.Script() == config.module():
		wrong = "its language is not the declared one"
	case wrong == "" && b.DigestUnder(config.Runner) != config.Digest:
		wrong = fmt.Sprintf("the digest of the reward is %s, but it was pushed as %s", b.DigestUnder(config.Runner), config.Digest)
	}
	if wrong != "" {
		return "", c.foreign(fault.Corrupt, wrong, "do not use it: it was changed, or not pushed by Merit; nothing was written", nil)
	}
	return b.Digest, nil
}

func unwritten(at string, err error) error {
	kind, hint := fault.Refused, "check that the folder exists and is writable"
	if durable.Full(err) {
		kind, hint = fault.Exhausted, "free disk space or write elsewhere; no partial file was left"
	}
	return &fault.Error{Boundary: fault.Storage, Kind: kind, Where: at, What: "cannot write", Err: durable.Cause(err), Hint: hint}
}
