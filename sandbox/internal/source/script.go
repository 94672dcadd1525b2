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

// Script is a reward in source form with everything that it may read.
type Script struct {
	Language Language
	Name     string
	Entry    string            // a key of Files
	Files    map[string][]byte // by slash-separated path
	Choice
}

// Digest covers every file, what was chosen, and what Merit brings.
func (s *Script) Digest(languages Languages) string { return s.DigestUnder(languages.Digest()) }

// DigestUnder is the digest where Merit brings what has the digest runner: that
// of another version can be checked without it.
func (s *Script) DigestUnder(runner string) string {
	h := sha256.New()
	fmt.Fprintf(h, "merit script 6 %s %q %q %q %q %q\n", s.Language.Extension(), s.Entry, s.Function, s.With, s.Batch, runner)
	addFiles(h, s.Files)
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}

// Digest covers, of all languages, since a script may open programs in each, the
// interpreter and the files that Merit runs with it.
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

// Mentions reports whether a file of the script has a text in it.
func (s *Script) Mentions(text string) bool {
	for _, data := range s.Files {
		if bytes.Contains(data, []byte(text)) {
			return true
		}
	}
	return false
}
