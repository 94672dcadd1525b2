package library

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/durable"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// shelf is what one tenant has stored:
//
//	index.json            the versions and their aliases: the truth
//	blobs/<digest>/reward the files of a bundle
//	incoming/…            what is not acknowledged yet
//	reserve               room for an index, for when the disk is full
//
// A blob is whole before the index names it, and goes after the index has
// forgotten it, so whatever a kill leaves is a blob too many.
type shelf struct {
	dir     string
	uploads chan struct{} // one at a time
	write   func(file string, data []byte) error

	mu       sync.Mutex
	versions []Version // never changed in place
}

func newShelf(dir string) *shelf {
	return &shelf{dir: dir, uploads: make(chan struct{}, 1), write: durable.Replace}
}

// index is the file.
type index struct {
	Format   int       `json:"format"`
	Versions []Version `json:"versions"`
}

const indexFormat = 1

// openShelf reads a tenant's index, holds every blob to its digest and removes
// what the index does not know.
func openShelf(dir string) (*shelf, error) {
	s := newShelf(dir)
	at := filepath.Join(dir, "index.json")
	data, err := os.ReadFile(at)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err == nil {
		var x index
		if err := strictjson.Unmarshal(data, &x); err != nil || x.Format != indexFormat {
			return nil, &fault.Error{
				Boundary: fault.Storage, Kind: fault.Corrupt, Where: at, What: "is no index of rewards, or one of another version of Merit", Err: err,
				Hint: "restore the tenant's folder from a backup, or move it away to begin without its uploads",
			}
		}
		s.versions = x.Versions
	}
	if err := os.RemoveAll(filepath.Join(dir, "incoming")); err != nil {
		return nil, err
	}
	s.examine()
	return s, s.sweep()
}

// examine marks the versions whose blobs are not what they were.
func (s *shelf) examine() {
	good := map[string]bool{}
	for i, v := range s.versions {
		if _, known := good[v.Digest]; !known {
			good[v.Digest] = s.verify(v) == nil
		}
		s.versions[i].Damaged = !good[v.Digest]
		if v.Disk == 0 { // of an index from before it was counted
			s.versions[i].Disk, s.versions[i].Nodes = v.Bytes+int64(v.Files+3)*block, v.Files+2
		}
	}
}

// verify holds the blob of v to its digest.
func (s *shelf) verify(v Version) error {
	files, err := durable.Read(s.blob(v.Digest), v.Bytes)
	if err != nil || (Bundle{v.Kind, v.Entry, files}).Digest() != v.Digest {
		return damaged(v.Name + "@" + v.Digest)
	}
	return nil
}

// sweep removes blobs that no version has.
func (s *shelf) sweep() error {
	list, err := os.ReadDir(filepath.Join(s.dir, "blobs"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, d := range list {
		if !s.stores("sha256:" + d.Name()) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(s.dir, "blobs", d.Name())))
		}
	}
	return err
}

// blob is the folder of a bundle's files. Its name is what a script without a
// name of its own is called.
func (s *shelf) blob(digest string) string {
	return filepath.Join(s.dir, "blobs", strings.TrimPrefix(digest, "sha256:"), "reward")
}

// entryPath is what a Loader opens: the only file of a bundle, or its folder.
func entryPath(dir string, kind Kind, entry string, files int) string {
	if kind == Module || files == 1 {
		return filepath.Join(dir, entry)
	}
	return dir
}

// change writes the index that edit makes of a copy of the versions. Nothing
// has changed if there is an error. The caller holds mu.
func (s *shelf) change(edit func(list []Version) []Version) error {
	list := make([]Version, len(s.versions))
	for i, v := range s.versions {
		v.Aliases = slices.Clone(v.Aliases)
		list[i] = v
	}
	list = edit(list)
	slices.SortStableFunc(list, byName)
	stored := slices.Clone(list)
	for i := range stored {
		stored[i].Damaged = false // found again at each start
	}
	data, err := json.MarshalIndent(index{indexFormat, stored}, "", " ")
	if err == nil {
		err = s.write(filepath.Join(s.dir, "index.json"), append(data, '\n'))
	}
	if err == nil {
		s.versions = list
		s.reserve(len(data))
	}
	return err
}

// reservePath is a file that holds room for the next index.
func (s *shelf) reservePath() string { return filepath.Join(s.dir, "reserve") }

// reserve keeps room for an index of this length, so that something can be
// deleted when the disk is full. Where there is no room now, the next change
// tries again.
func (s *shelf) reserve(length int) {
	const step = 64 << 10
	want := int64(length/step+1) * step
	if info, err := os.Stat(s.reservePath()); err == nil && info.Size() >= want {
		return
	}
	if os.WriteFile(s.reservePath(), make([]byte, want), 0o600) != nil {
		_ = os.Remove(s.reservePath())
	}
}

// byName orders versions by name and time.
func byName(a, b Version) int {
	return cmp.Or(strings.Compare(a.Name, b.Name), a.Uploaded.Compare(b.Uploaded), strings.Compare(a.Digest, b.Digest))
}

func (s *shelf) list() []Version {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Version{}, s.versions...)
}

// stores reports whether a version has this digest.
func (s *shelf) stores(digest string) bool {
	return slices.ContainsFunc(s.versions, func(v Version) bool { return v.Digest == digest })
}

// has reports whether a version has this name.
func (s *shelf) has(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.versions, func(v Version) bool { return v.Name == name })
}

// get finds a version.
func (s *shelf) get(ref Ref) (Version, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.versions, ref.means); i >= 0 {
		return s.versions[i], nil
	}
	return Version{}, s.missing(ref)
}

// means reports whether r leads to v.
func (r Ref) means(v Version) bool {
	if r.Name != "" && r.Name != v.Name {
		return false
	}
	if r.Digest != "" {
		return r.Digest == v.Digest
	}
	return slices.Contains(v.Aliases, r.alias())
}

// missing says what there is in the place of ref. The caller holds mu.
func (s *shelf) missing(ref Ref) error {
	var names, aliases []string
	for _, v := range s.versions {
		if names = append(names, v.Name); v.Name == ref.Name {
			aliases = append(aliases, v.Aliases...)
		}
	}
	e := &fault.Error{Boundary: fault.Data, Kind: fault.Missing, Where: "reward " + ref.String(), What: "there is no such reward", Hint: "upload it first"}
	switch {
	case ref.Name == "":
	case !slices.Contains(names, ref.Name):
		if near := fault.Nearest(ref.Name, names); near != "" {
			e.Hint = fmt.Sprintf("did you mean %s?", near)
		}
	case ref.Digest != "":
		e.What, e.Hint = "there is no such version of it", "upload it first"
	default:
		e.What, e.Hint = fmt.Sprintf("it has no alias %s", ref.alias()), "its aliases: "+strings.Join(aliases, ", ")
		if len(aliases) == 0 {
			e.Hint = "name a digest: no alias leads to it"
		}
	}
	return e
}
