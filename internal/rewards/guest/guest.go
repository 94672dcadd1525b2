// Package guest is the table of languages that rewards are written in: how a
// folder is recognised, scaffolded and built, and how each language says what
// the sandbox asks for.
package guest

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/merit-rl/merit/core/fault"
)

// Language is one entry of the table.
type Language struct {
	Name  string // as --lang takes it
	Title string
	// Detect reports whether folder holds a reward in this language.
	Detect func(folder fs.FS) bool
	// Script is the file that is run as it is, for languages that are not
	// built; their Commands and Lacks are nil.
	Script string
	// Commands returns what builds the reward in folder into the file out;
	// both paths are absolute. The error says what is missing for it.
	Commands func(ctx context.Context, folder, out string) ([]Command, error)
	// Sources lists the files that Commands reads in folder and, of a package
	// beside it, elsewhere; folder is absolute. A file that is listed need not
	// exist. Nil where Commands is.
	Sources func(ctx context.Context, folder string) []string
	// Lacks matches what a program of Commands says if it is incomplete: then
	// the source is not to blame.
	Lacks *regexp.Regexp
	// Needs lists the programs that Commands starts, each with how to get it.
	Needs map[string]string
	// Test is the command that tests the function as such, without Merit, in
	// the folder of a new reward; nil if the language has none everywhere.
	Test []string
	// Template is the folder under templates/ that a new reward begins from.
	Template string
	// SDK says which files of the SDK a new reward gets.
	SDK []Copy
	// Export says how this language exports the function called name.
	Export func(name string) string
}

// Copy is a file or a folder among the files of an SDK and the folder of a new
// reward that it goes to.
type Copy struct {
	Files    fs.FS
	From, To string
}

// Command is one program to run.
type Command struct {
	Dir  string
	Env  []string // added to the environment
	Args []string
}

// String shows the command as one would type it.
func (c Command) String() string { return strings.Join(append(c.Env, c.Args...), " ") }

// Find returns the language called name.
func Find(name string) (Language, error) {
	var names []string
	for _, l := range Languages() {
		if l.Name == name {
			return l, nil
		}
		names = append(names, l.Name)
	}
	return Language{}, &fault.Error{
		Boundary: fault.CLI, Kind: fault.Invalid, Where: "--lang", What: fmt.Sprintf("%q is not a language of this version", name),
		Hint: "use one of " + strings.Join(names, ", "),
	}
}

// Detect finds the reward in path: a folder with its source, or one with the
// source in a subfolder called reward.
func Detect(path string) (Language, string, error) {
	if info, err := os.Stat(path); err != nil {
		return Language{}, "", &fault.Error{Boundary: fault.Data, Kind: fault.Missing, What: "cannot read", Err: err, Hint: "give the folder of a reward"}
	} else if !info.IsDir() {
		path = filepath.Dir(path)
	}
	for _, folder := range []string{path, filepath.Join(path, "reward")} {
		for _, l := range Languages() {
			if l.Detect(os.DirFS(folder)) {
				return l, folder, nil
			}
		}
	}
	return Language{}, "", &fault.Error{
		Boundary: fault.Data, Kind: fault.Missing, Where: path, What: "holds no reward that can be built",
		Hint: "give the folder of the source, or begin with merit reward new",
	}
}

// SourceOf returns the title of the language that a file is the source of, if
// it is one that is built.
func SourceOf(path string) (title string, ok bool) {
	title, ok = map[string]string{
		".go": "Go", ".rs": "Rust", ".c": "C", ".cc": "C++", ".cpp": "C++", ".cxx": "C++", ".ts": "AssemblyScript",
	}[filepath.Ext(path)]
	return title, ok
}

// AnyLanguage says how each language that is built exports the function called
// name, for a module that does not show what it was written in.
func AnyLanguage(name string) string {
	var titles, ways []string
	for _, l := range Languages() {
		if l.Script != "" {
			continue
		}
		if way := l.Export(name); len(ways) > 0 && ways[len(ways)-1] == way {
			titles[len(titles)-1] += " and " + l.Title
		} else {
			titles, ways = append(titles, l.Title), append(ways, way)
		}
	}
	for i, way := range ways {
		ways[i] = titles[i] + ": " + way
	}
	return strings.Join(ways, "\n")
}

// has makes a Detect that looks for any file that matches one of patterns.
func has(patterns ...string) func(fs.FS) bool {
	return func(folder fs.FS) bool {
		for _, p := range patterns {
			if found, _ := fs.Glob(folder, p); len(found) > 0 {
				return true
			}
		}
		return false
	}
}
