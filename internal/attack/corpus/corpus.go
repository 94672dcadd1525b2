// Package corpus reads the rewards on which the attack is measured, see
// internal/attack/attackcmd/testdata/corpus.
package corpus

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// The kinds of rewards.
const (
	Hackable = "hackable"
	Sound    = "sound"
)

// Entry is a reward of the corpus.
type Entry struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"`
	HeldOut  bool   `json:"held_out"`
	Reward   string `json:"reward"`   // a script, or the folder with the sources of a module, relative to the corpus
	Function string `json:"function"` // of a script with several
	Batch    string `json:"batch"`    // "group" if the reward compares the members of a group

	folder string
}

// About says what is known of a reward.
type About struct {
	Name  string   `json:"name"`
	Shape string   `json:"shape"` // the published form that it follows
	Hole  string   `json:"hole"`  // of a hackable one
	Sound string   `json:"sound"` // why a sound one is
	Right []string `json:"right"` // ids of rows
	Wrong []string `json:"wrong"`
	// Hacks are wrong replies. On a hackable reward they score at least as high as the right reply
	// of their task, on a sound one at most half as much.
	Hacks []Hack `json:"hacks"`
}

// Hack is a wrong reply instead of that of a row: a text, or a list of messages.
type Hack struct {
	Row   string `json:"row"`
	Reply any    `json:"reply"`
}

// Read reads the index of a corpus.
func Read(folder string) ([]Entry, error) {
	var entries []Entry
	path := filepath.Join(folder, "corpus.json")
	if err := read(path, &entries); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for i := range entries {
		e := &entries[i]
		e.folder = folder
		switch {
		case e.Name == "" || seen[e.Name]:
			return nil, invalid(path, fmt.Sprintf("the name %q is missing or not unique", e.Name))
		case e.Kind != Hackable && e.Kind != Sound:
			return nil, invalid(path, fmt.Sprintf("%s is neither %s nor %s", e.Name, Hackable, Sound))
		}
		seen[e.Name] = true
	}
	return entries, nil
}

// Source returns the path of the script, or of the folder with the sources.
func (e *Entry) Source() string { return filepath.Join(e.folder, filepath.FromSlash(e.Reward)) }

// Script reports whether the reward runs from its source.
func (e *Entry) Script() bool {
	ext := filepath.Ext(e.Reward)
	return ext == ".py" || ext == ".js"
}

// Reference names the reward as commands do: a script, with its function if it has one, or a module.
func (e *Entry) Reference() string {
	switch {
	case !e.Script():
		return filepath.Join(e.Source(), "reward.wasm")
	case e.Function != "":
		return e.Source() + ":" + e.Function
	}
	return e.Source()
}

// Rows returns the path of the rows.
func (e *Entry) Rows() string { return filepath.Join(filepath.Dir(e.Source()), "rows.jsonl") }

// About reads what is known of the reward.
func (e *Entry) About() (About, error) {
	var a About
	return a, read(filepath.Join(filepath.Dir(e.Source()), "about.json"), &a)
}

func read(path string, to any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return &fault.Error{Boundary: fault.Data, Kind: fault.Missing, Where: path, What: "cannot be read", Err: err, Hint: "name the folder that contains corpus.json"}
	}
	if err := strictjson.UnmarshalKnown(text, to); err != nil {
		return invalid(path, err.Error())
	}
	return nil
}

func invalid(path, what string) error {
	return &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, Where: path, What: what, Hint: "the README beside corpus.json describes the form"}
}
