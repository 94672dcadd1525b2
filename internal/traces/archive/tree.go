package archive

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// IndexFile is the path of the index in a tree.
const IndexFile = "metadata/trace_index.json"

// Index lists the traces of a tree, by start and id.
type Index struct {
	Version int     `json:"version"`
	Traces  []Entry `json:"traces"`
}

// Entry describes a trace of a tree: its head, and the path of its file in the tree.
type Entry struct {
	trace.Head
	Path string `json:"path"`
}

// Tree writes traces/DATE/AGENT/trace_ID.json, one file per trace, and an index.
// Each file appears whole or not at all, and the index last: even after an
// interruption, every trace that the index lists exists. Writing to an existing tree
// adds traces and replaces those with the same id.
type Tree struct {
	folder  string
	entries map[string]Entry // by id
}

// CreateTree opens a tree in a folder that is empty, does not exist, or is a tree.
func CreateTree(folder string) (*Tree, error) {
	t := &Tree{folder: folder, entries: map[string]Entry{}}
	index, err := ReadIndex(folder)
	switch {
	case err == nil:
		for _, e := range index.Traces {
			t.entries[e.ID] = e
		}
		return t, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	there, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, cannotWrite(folder, err)
	}
	if len(there) > 0 && !(len(there) == 1 && there[0].Name() == "traces") { // from an interrupted first export
		return nil, &fault.Error{Boundary: fault.Storage, Kind: fault.Refused, Where: folder, What: "the folder is not empty and is not a trace tree", Hint: "use an empty or new folder, or the folder of an earlier export"}
	}
	return t, nil
}

// Put writes the file of one trace.
func (t *Tree) Put(x *trace.Trace) error {
	at := path.Join("traces", x.Start.UTC().Format(time.DateOnly), folderName(x.Agent), "trace_"+folderName(x.ID)+".json")
	if err := t.write(at, x); err != nil {
		return err
	}
	if before, ok := t.entries[x.ID]; ok && before.Path != at && local(before.Path) {
		_ = os.Remove(filepath.Join(t.folder, filepath.FromSlash(before.Path))) // the new file replaces it in the index
	}
	t.entries[x.ID] = Entry{x.Head, at}
	return nil
}

// Close writes the index.
func (t *Tree) Close() error {
	index := Index{Version: 1, Traces: make([]Entry, 0, len(t.entries))}
	for _, e := range t.entries {
		index.Traces = append(index.Traces, e)
	}
	slices.SortFunc(index.Traces, func(a, b Entry) int { return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.ID, b.ID)) })
	return t.write(IndexFile, index)
}

func (t *Tree) write(at string, v any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	file := filepath.Join(t.folder, filepath.FromSlash(at))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return cannotWrite(file, err)
	}
	return cannotWrite(file, renameio.WriteFile(file, text.Bytes(), 0o644))
}

// ReadIndex reads the index of the tree in folder.
func ReadIndex(folder string) (*Index, error) {
	at := filepath.Join(folder, filepath.FromSlash(IndexFile))
	text, err := os.ReadFile(at)
	if err != nil {
		return nil, &fault.Error{Boundary: fault.Data, Kind: fault.Missing, What: "not a trace tree", Err: err, Hint: "pass a file, or a folder that contains " + IndexFile}
	}
	index := new(Index)
	if err := strictjson.Unmarshal(text, index); err != nil {
		return nil, &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, Where: at, What: "is not a trace index", Err: err, Hint: "export the tree again"}
	}
	if index.Version != 1 {
		return nil, &fault.Error{Boundary: fault.Data, Kind: fault.Protocol, Where: at, What: "was written by another version of Merit", Hint: "read it with that version"}
	}
	return index, nil
}

// folderName encodes a name as one path element for any operating system: it writes
// special characters as %XX, and shortens long names with a digest.
func folderName(name string) string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.' && i > 0 {
			b.WriteByte(c)
		} else {
			b.WriteString("%" + hex.EncodeToString([]byte{c}))
		}
	}
	clean := cmp.Or(b.String(), "unknown")
	if len(clean) <= 160 {
		return clean
	}
	sum := sha256.Sum256([]byte(name))
	return clean[:120] + "-" + hex.EncodeToString(sum[:8])
}

// local reports whether a path in an index stays within its tree.
func local(at string) bool { return filepath.IsLocal(filepath.FromSlash(at)) }

func cannotWrite(where string, err error) error {
	if err == nil {
		return nil
	}
	return &fault.Error{Boundary: fault.Storage, Kind: fault.Refused, Where: where, What: "cannot write", Err: err, Hint: "check that the folder is writable and the disk is not full"}
}
