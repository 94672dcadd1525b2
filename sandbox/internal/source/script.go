package source

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"hash"
	"maps"
	"path"
	"slices"
	"strings"
)

// Script is a reward in source form, with all files that it may read.
type Script struct {
	Language Language
	Name     string
	Entry    string            // a key of Files
	Files    map[string][]byte // by slash-separated path
	Choice
}

// Digest covers every file, the choices, and what Merit adds.
func (s *Script) Digest(languages Languages) string { return s.DigestUnder(languages.Digest()) }

// DigestUnder returns the digest of the script if what Merit adds has the
// digest runner. It checks the digests of other versions of Merit without
// having them.
func (s *Script) DigestUnder(runner string) string {
	h := sha256.New()
	fmt.Fprintf(h, "merit script 6 %s %q %q %q %q %q\n", s.Language.Extension(), s.Entry, s.Function, s.With, s.Batch, runner)
	addFiles(h, s.Files)
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}

// Digest covers the interpreter and Merit's files of every language, because a
// script may open programs in each of them.
func (list Languages) Digest() string {
	h := sha256.New()
	fmt.Fprintln(h, "merit runner 1")
	for _, l := range list {
		fmt.Fprintln(h, l.Extension(), l.Interpreter().Digest)
		addFiles(h, l.Brings())
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}

func addFiles(h hash.Hash, files map[string][]byte) {
	fmt.Fprintln(h, len(files))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%q %x\n", name, sha256.Sum256(files[name]))
	}
}

// omitted reports whether a folder is not part of a reward: it contains tests,
// or was left behind by tools.
func omitted(folder string) bool {
	return strings.HasPrefix(folder, ".") || folder == "fixtures" || folder == "node_modules"
}

// stale reports whether a file is bytecode that Python would not use here,
// because it belongs to another version or is checked against the time of its
// source. Bytecode of "python3.13 -m compileall --invalidation-mode
// unchecked-hash" is not stale for version 3.13.
func stale(name string, data []byte, version string) bool {
	const flags, unchecked = 4, 1
	if path.Ext(name) != ".pyc" || path.Base(path.Dir(name)) != "__pycache__" {
		return false
	}
	return !strings.HasSuffix(name, ".cpython-"+strings.ReplaceAll(version, ".", "")+".pyc") || len(data) <= flags || data[flags] != unchecked
}

// testFile reports whether a file is a test of the reward, and not part of it.
func testFile(name string) bool {
	for _, pattern := range []string{"test_*.py", "*.test.js", "*.test.mjs"} {
		if ok, _ := path.Match(pattern, name); ok {
			return true
		}
	}
	return false
}

// Uses reports whether a file of the script contains text, apart from the copies of
// Merit's own files in the folder own, which new rewards have for editors.
func (s *Script) Uses(text, own string) bool {
	for name, data := range s.Files {
		if !strings.HasPrefix(name, own+"/") && bytes.Contains(data, []byte(text)) {
			return true
		}
	}
	return false
}

// Mentions reports whether a file of the script contains text.
func (s *Script) Mentions(text string) bool {
	for _, data := range s.Files {
		if bytes.Contains(data, []byte(text)) {
			return true
		}
	}
	return false
}
