// Package built remembers in a module which source files it was built from, so
// that a module whose sources have changed since is not scored silently.
package built

import (
	"encoding/binary"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
)

// Section is the name of the custom section that holds the record.
const Section = "merit.sources"

// record is the content of the section. It holds relative paths only, so that
// the same sources give the same bytes on every machine.
type record struct {
	Module string `json:"module"` // the file's name: a copy under another name is a version of its own
	Folder string `json:"folder"` // from the module's folder to the one that was built
	Files  Files  `json:"files"`
}

// Files are digests (SHA-256, in hexadecimal digits) of source files by their
// slash-separated paths from the folder that is built. The digest of a file
// that the build looked for and did not find is empty.
type Files map[string]string

// Read computes the digests of the files at paths. It leaves out what cannot be
// named relative to folder; see relative.
func Read(folder string, paths []string) (Files, error) {
	files := Files{}
	for _, path := range paths {
		name, ok := relative(folder, path)
		if !ok {
			continue
		}
		digest, err := digest(path)
		if err != nil {
			return nil, err
		}
		files[name] = digest
	}
	return files, nil
}

// With returns the module wasm with the record that it was built from files of
// folder, to be written to out. The module stays as it is where it lies too far
// from the folder to name that; see relative.
func With(wasm []byte, out, folder string, files Files) ([]byte, error) {
	from, err := filepath.Abs(filepath.Dir(out))
	if err != nil {
		return nil, err
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return nil, err
	}
	way, ok := relative(from, folder)
	if !ok {
		return wasm, nil
	}
	content, err := json.Marshal(record{filepath.Base(out), way, files})
	if err != nil {
		return nil, err
	}
	name := append(binary.AppendUvarint(nil, uint64(len(Section))), Section...)
	section := binary.AppendUvarint([]byte{0}, uint64(len(name)+len(content)))
	return slices.Concat(wasm, section, name, content), nil
}

// relative returns the slash-separated path to a file or folder from another.
// It has none through the root of the disk or up more than mostUps folders: such
// a path would differ from machine to machine, and the module's bytes with it.
func relative(from, to string) (path string, ok bool) {
	path, err := filepath.Rel(from, to)
	if err != nil {
		return "", false
	}
	path = filepath.ToSlash(path)
	common := from
	for range ups(path) {
		common = filepath.Dir(common)
	}
	return path, ups(path) == 0 || ups(path) <= mostUps && common != filepath.Dir(common)
}

const mostUps = 3

// ups is how many folders a clean, slash-separated path goes up.
func ups(path string) (n int) {
	for path += "/"; strings.HasPrefix(path, "../"); path = path[3:] {
		n++
	}
	return n
}

// Unit reports whether a compiler takes a file in the folder of a reward
// without another file's naming it.
func Unit(name string) bool {
	hidden := strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".")
	return slices.Contains([]string{".go", ".c", ".cc", ".cpp"}, filepath.Ext(name)) && !hidden && !strings.HasSuffix(name, "_test.go")
}
