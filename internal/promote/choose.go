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
)

// Environment variables of a user of promoted policies.
const (
	PolicyVariable   = "MERIT_POLICY"   // who plays where nothing else says so, as Choose reads it
	PoliciesVariable = "MERIT_POLICIES" // the folder of named policies; "policies" in the working directory without it
)

// Baseline behind an @ chooses the policy that was there before anybody trained.
const Baseline = "baseline"

// Root is the folder in which named policies lie, each a promotion folder.
func Root(getenv func(string) string) string {
	if root := getenv(PoliciesVariable); root != "" {
		return root
	}
	return "policies"
}

// Folder is the promotion folder that a name or a path stands for: what has a
// slash, is . or .. or such a folder is a path.
func Folder(name string, getenv func(string) string) string {
	if strings.ContainsRune(name, '/') || name == "." || name == ".." || Is(name) {
		return name
	}
	return filepath.Join(Root(getenv), name)
}

// NameOf is what a policy for an environment is called where nobody says: the
// last part of the plug-in's name or path. It is empty where that is no name, as
// of "..".
func NameOf(plugin string) string {
	name := filepath.Base(plugin)
	if name == "." || name == ".." || name == string(filepath.Separator) {
		return ""
	}
	return name
}

// List returns the states of all named policies, by name.
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

// Choose says who plays by a word: the name of a policy or its folder, as it is
// promoted; NAME@baseline for the policy that was there before; NAME@2 for a
// version. State is nil for any other path that exists, of a run or a checkpoint.
func Choose(word string, getenv func(string) string) (*State, error) {
	if _, err := os.Stat(word); err == nil && !Is(word) {
		return nil, nil
	}
	name, which, chosen := word, "", false
	if at := strings.LastIndexByte(word, '@'); at >= 0 && !Is(Folder(word, getenv)) {
		name, which, chosen = word[:at], word[at+1:], true
	}
	dir := Folder(name, getenv)
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
			Boundary: fault.Data, Kind: fault.Invalid, Where: word, What: fmt.Sprintf("%q chooses no version", which),
			Hint: fmt.Sprintf("use %s@baseline, or a number as in %s@1", name, name),
		}
	}
	s.Share = 1
	return s, s.Select(version) // 0 is the baseline
}
