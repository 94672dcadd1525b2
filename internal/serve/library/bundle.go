package library

import (
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/archive"
)

// Kind says what a bundle holds.
type Kind string

// The closed set of kinds; the strings are the JSON values.
const (
	Module Kind = "module" // WebAssembly
	Script Kind = "script" // Python or JavaScript, with the files beside it
)

// Bundle is an upload: a module, or a script with its files.
type Bundle struct {
	Kind  Kind
	Entry string            // the key of Files that is run: reward.wasm, reward.py, reward.js
	Files map[string][]byte // by clean, relative, slash-separated path
}

// Digest is sha256:… of all that the upload brings. A module's is that of its
// bytes, so it is the one that every other verb shows; a script's covers the
// names and bytes of its files and which of them is run, but not the
// interpreter: what decides about results has a digest of its own, in
// Version.Reward.
func (b Bundle) Digest() string {
	if b.Kind == Module {
		return fmt.Sprintf("sha256:%x", sha256.Sum256(b.Files[b.Entry]))
	}
	h := sha256.New()
	fmt.Fprintf(h, "merit bundle 1 %q %d\n", b.Entry, len(b.Files))
	for _, name := range slices.Sorted(maps.Keys(b.Files)) {
		fmt.Fprintf(h, "%q %x\n", name, sha256.Sum256(b.Files[name]))
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}

// Bytes is what the files take, without their names.
func (b Bundle) Bytes() (n int64) {
	for _, data := range b.Files {
		n += int64(len(data))
	}
	return n
}

// block is the room that a disk gives out at a time: a file of one byte takes one.
const block = 4096

// Disk is what b takes of a disk, and as how many files and folders: whole blocks
// of 4,096 bytes for each file and each folder, with the two that hold them and a
// block of the index.
func (b Bundle) Disk() (bytes int64, files int) {
	folders := map[string]bool{}
	for name, data := range b.Files {
		bytes += (int64(len(data)) + block - 1) / block * block
		for at := path.Dir(name); at != "." && !folders[at]; at = path.Dir(at) {
			folders[at] = true
		}
	}
	files = len(b.Files) + len(folders) + 2
	return bytes + int64(len(folders)+3)*block, files
}

// ContentTypes are those of uploads.
var ContentTypes = archive.ContentTypes()

// ReadBundle reads an upload by its content type: a module, a script of one
// file, or an archive of a folder with reward.py, reward.js or reward.wasm at
// its root or in its only folder. Neither the body nor what it unpacks to may
// have more than limit bytes: that is of the kind Exhausted. The error lists
// every problem.
func ReadBundle(contentType string, body io.Reader, limit int64) (Bundle, error) {
	files, err := archive.Read(contentType, body, limit)
	if err != nil {
		return Bundle{}, err
	}
	return newBundle(files)
}

// kinds are the files that are run, by extension.
var kinds = map[string]Kind{".wasm": Module, ".py": Script, ".js": Script}

// newBundle finds what is run among files: the only file, or the one called
// reward at the root. Of a module the rest is left out: it is not run.
func newBundle(files map[string][]byte) (Bundle, error) {
	var entries []string
	for name := range files {
		if extension := path.Ext(name); kinds[extension] != "" && (name == "reward"+extension || len(files) == 1 && !strings.Contains(name, "/")) {
			entries = append(entries, name)
		}
	}
	slices.Sort(entries)
	wrong := &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, Where: "upload"}
	switch {
	case len(entries) == 0:
		wrong.What, wrong.Hint = "it holds no reward", "put reward.py, reward.js or reward.wasm at its root or into its only folder"
		return Bundle{}, wrong
	case len(entries) > 1:
		wrong.What, wrong.Hint = "it holds more than one reward: "+strings.Join(entries, ", "), "leave one: which one is run must not be a guess"
		return Bundle{}, wrong
	}
	b := Bundle{Kind: kinds[path.Ext(entries[0])], Entry: entries[0], Files: files}
	if b.Kind == Module {
		b.Files = map[string][]byte{b.Entry: files[b.Entry]}
	}
	if len(b.Files[b.Entry]) == 0 {
		wrong.Where, wrong.What, wrong.Hint = b.Entry, "the file is empty", "send the bytes of the reward"
		return Bundle{}, wrong
	}
	return b, nil
}
