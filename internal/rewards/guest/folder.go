package guest

import (
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/merit-rl/merit/core/fault"
)

// NewFolder writes files, named by slash-separated paths, into a folder that is empty or does
// not exist: all of them or none. It returns their paths in order.
func NewFolder(folder string, files map[string][]byte) (paths []string, err error) {
	if info, err := os.Stat(folder); folder == "" || err == nil && !info.IsDir() {
		return nil, &fault.Error{Boundary: fault.Storage, Kind: fault.Refused, Where: folder, What: "is not a folder", Hint: "choose another name; nothing was written"}
	}
	there, err := os.ReadDir(folder)
	if err == nil && len(there) > 0 {
		return nil, &fault.Error{Boundary: fault.Storage, Kind: fault.Refused, Where: folder, What: "is not empty", Hint: "choose another folder; nothing was written"}
	}
	exists := err == nil
	parent := filepath.Dir(filepath.Clean(folder))
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, storage(err)
	}
	stage, err := os.MkdirTemp(parent, ".merit-new-")
	if err != nil {
		return nil, storage(err)
	}
	defer os.RemoveAll(stage)
	fresh := filepath.Join(stage, "new")
	for _, name := range slices.Sorted(maps.Keys(files)) {
		file := filepath.Join(fresh, filepath.FromSlash(name))
		if err = os.MkdirAll(filepath.Dir(file), 0o755); err == nil {
			err = os.WriteFile(file, files[name], 0o644)
		}
		if err != nil {
			return nil, storage(err)
		}
		paths = append(paths, filepath.Join(folder, filepath.FromSlash(name)))
	}
	if !exists {
		err = os.Rename(fresh, folder)
	} else { // it may be a working directory, so keep the same folder
		err = moveInto(folder, fresh)
	}
	if err != nil {
		return nil, storage(err)
	}
	return paths, nil
}

// moveInto moves the content of from into an empty folder; after an error the folder is empty
// again.
func moveInto(folder, from string) error {
	entries, err := os.ReadDir(from)
	var moved []string
	for _, e := range entries {
		to := filepath.Join(folder, e.Name())
		if err = os.Rename(filepath.Join(from, e.Name()), to); err != nil {
			break
		}
		moved = append(moved, to)
	}
	if err != nil {
		for _, path := range moved {
			_ = os.RemoveAll(path) // the first error is reported
		}
	}
	return err
}
