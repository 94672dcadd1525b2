package source

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Script is a reward in source form with everything that it may read.
type Script struct {
	Language Language
	Name     string
	Entry    string            // a key of Files
	Files    map[string][]byte // by slash-separated path
	Choice
}

// Digest covers every file, those that Merit runs with the script, the
// interpreter, and what was chosen.
func (s *Script) Digest() string {
	h := sha256.New()
	fmt.Fprintf(h, "merit script 3 %s %q %q %q\n", s.Language.Interpreter().Digest, s.Entry, s.Function, s.With)
	for _, files := range []map[string][]byte{s.Language.Brings(), s.Files} {
		fmt.Fprintln(h, len(files))
		for _, name := range slices.Sorted(maps.Keys(files)) {
			fmt.Fprintf(h, "%q %x\n", name, sha256.Sum256(files[name]))
		}
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}

// omitted reports whether a folder is no part of a reward: what it is tested
// with, and what tools leave behind.
func omitted(folder string) bool {
	return strings.HasPrefix(folder, ".") || folder == "fixtures" || folder == "node_modules"
}

// stale reports whether a file is bytecode that Python would not look at here,
// because it is another version's, or checked against the time of its source.
// What "python3.12 -m compileall --invalidation-mode unchecked-hash" writes is
// not.
func stale(name string, data []byte) bool {
	const flags, unchecked = 4, 1
	if path.Ext(name) != ".pyc" || path.Base(path.Dir(name)) != "__pycache__" {
		return false
	}
	return !strings.HasSuffix(name, ".cpython-312.pyc") || len(data) <= flags || data[flags] != unchecked
}

// testFile reports whether a file tests a reward and is no part of it.
func testFile(name string) bool {
	for _, pattern := range []string{"test_*.py", "*.test.js", "*.test.mjs"} {
		if ok, _ := path.Match(pattern, name); ok {
			return true
		}
	}
	return false
}
