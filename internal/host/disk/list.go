package disk

import (
	"errors"
	"fmt"
	"strings"

	"github.com/merit-rl/merit/core/fault"
)

// Entry is a plug-in of a list.
type Entry struct {
	Name     string
	Path     string
	Manifest *Manifest // nil if it has none
	Err      error     // what is wrong with the manifest, or that the plug-in does not match it
	Hidden   bool      // a plug-in of the same name precedes it
}

// List returns the plug-ins in folders, in the order in which names are looked up, with
// their manifests. It starts none. A folder that does not exist is empty.
func List(folders ...string) ([]Entry, error) {
	var all []Entry
	seen := map[string]bool{}
	for _, dir := range folders {
		paths, err := within(dir)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			e := Entry{Name: Name(path), Path: path}
			e.Hidden, seen[e.Name] = seen[e.Name], true
			if e.Manifest, e.Err = ReadManifest(path); e.Err == nil && e.Manifest != nil {
				e.Err = described(path, e.Manifest)
			}
			if e.Err == nil {
				e.Err = trusted(dir, path)
			}
			all = append(all, e)
		}
	}
	return all, nil
}

// described returns an error if the plug-in at path does not have the digest of m.
func described(path string, m *Manifest) error {
	if m.Digest == "" {
		return nil
	}
	digest, err := Digest(path)
	if err != nil || "sha256:"+digest == m.Digest {
		return err
	}
	return &fault.Error{
		Boundary: fault.Plugin, Kind: fault.Corrupt, Where: path,
		What: fmt.Sprintf("changed after its manifest was written: it has SHA-256 %s, not %s", digest, strings.TrimPrefix(m.Digest, "sha256:")),
		Hint: "write the manifest again, or reinstall the plug-in",
	}
}

// joined is errors.Join, but returns a single error unwrapped.
func joined(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}
