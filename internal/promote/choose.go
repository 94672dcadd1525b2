package promote

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
)

// Environment variables for promoted policies.
const (
	PolicyVariable   = "MERIT_POLICY"   // the default policy, as Choose reads it
	PoliciesVariable = "MERIT_POLICIES" // the folder of named policies; default "policies" in the working directory
)

// Baseline, after an @, selects the policy from before any training.
const Baseline = "baseline"

// Root returns the folder of named policies, each of which is a promotion folder.
func Root(getenv func(string) string) string {
	if root := getenv(PoliciesVariable); root != "" {
		return root
	}
	return "policies"
}

// Folder returns the promotion folder for a name or a path. A word with a slash, ".",
// "..", or the path of a promotion folder is a path.
func Folder(name string, getenv func(string) string) string {
	if strings.ContainsRune(name, '/') || name == "." || name == ".." || Is(name) {
		return name
	}
	return filepath.Join(Root(getenv), name)
}

// NameOf returns the default name of a policy for an environment: the last part of the
// plug-in's name or path. It is empty if that is not a name, as for
// "..".
func NameOf(plugin string) string {
	name := strings.TrimSuffix(filepath.Base(plugin), ".wasm")
	if name == "." || name == ".." || name == string(filepath.Separator) {
		return ""
	}
	return name
}

// List returns the states of all named policies, sorted by name.
func List(getenv func(string) string) (names []string, states []*State, err error) {
	root := Root(getenv)
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, storage(root, "cannot be read", err)
	}
	var problems []error
	for _, e := range entries {
		if dir := filepath.Join(root, e.Name()); Is(dir) {
			s, err := Read(dir)
			if problems = append(problems, err); err == nil {
				names, states = append(names, e.Name()), append(states, s)
			}
		}
	}
	return names, states, errors.Join(problems...)
}

// Choose returns the policy for a word: the name of a policy or its folder, as promoted;
// NAME@baseline for the policy from before any training; NAME@2 for a version. State is
// nil for a run or a checkpoint: any other path, and RUN@ITERATION.
func Choose(word string, getenv func(string) string) (*State, error) {
	if _, err := os.Stat(word); err == nil && !Is(word) {
		return nil, nil
	}
	name, which, chosen := word, "", false
	if at := strings.LastIndexByte(word, '@'); at >= 0 && !Is(Folder(word, getenv)) {
		name, which, chosen = word[:at], word[at+1:], true
	}
	dir := Folder(name, getenv)
	if _, err := os.Stat(filepath.Join(name, run.ManifestFile)); err == nil && chosen && !Is(dir) {
		return nil, nil // RUN@ITERATION
	}
	if !Is(dir) {
		return nil, &fault.Error{
			Boundary: fault.Data, Kind: fault.Missing, Where: word, What: "is neither a run, nor a checkpoint, nor a promoted policy",
			Hint: fmt.Sprintf("check the path; merit policy promote without arguments lists the policies in %s", Root(getenv)),
		}
	}
	s, err := Read(dir)
	if err != nil || !chosen {
		return s, err
	}
	version, err := strconv.Atoi(which)
	if which != Baseline && (err != nil || version < 1) {
		return nil, &fault.Error{
			Boundary: fault.Data, Kind: fault.Invalid, Where: word, What: fmt.Sprintf("%q is not a version", which),
			Hint: fmt.Sprintf("use %s@baseline, or a number as in %s@1", name, name),
		}
	}
	s.Share = 1
	return s, s.Select(version) // 0 is the baseline
}
