// Package guest is the table of languages for rewards, and for environments that are modules:
// how to recognize, scaffold and build a folder, and how to write in each language what the
// sandbox requires.
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
	Name  string // value of --lang
	Title string
	Makes string // what Commands build; rewards unless set
	// Detect reports whether folder contains a reward in this language.
	Detect func(folder fs.FS) bool
	// Script is the file that runs without a build; Commands and Lacks of such a language are
	// nil.
	Script string
	// Commands returns the commands that build the reward in folder into the file out; both
	// paths are absolute. The error says what is missing.
	Commands func(ctx context.Context, folder, out string) ([]Command, error)
	// Sources lists the files that Commands reads in folder and, from a package next to it,
	// elsewhere; folder is absolute. A listed file may be missing. Sources is nil if Commands
	// is nil.
	Sources func(ctx context.Context, folder string) []string
	// Lacks matches the output of an incomplete program of Commands. Then the source is not
	// the cause of the error.
	Lacks *regexp.Regexp
	// Needs lists the programs that Commands starts, each with instructions to install it.
	Needs map[string]string
	// Test is the command that tests the function without Merit, in the folder of a new
	// reward; nil if no such command works everywhere.
	Test []string
	// Template is the folder under templates/ for new rewards.
	Template string
	// SDK lists the files of the SDK that a new reward gets.
	SDK []Copy
	// Export says how this language exports the function called name.
	Export func(name string) string
}

// Copy is a file or folder of an SDK and its folder in a new reward.
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

// String returns the command as typed in a shell.
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
		Boundary: fault.CLI, Kind: fault.Invalid, Where: "--lang", What: fmt.Sprintf("%q is not a language that Merit can build", name),
		Hint: "use one of " + strings.Join(names, ", "),
	}
}

// Detect finds the reward in path: a folder with its source, or one with the source in a
// subfolder called reward.
func Detect(path string) (Language, string, error) {
	if info, err := os.Stat(path); err != nil {
		return Language{}, "", &fault.Error{Boundary: fault.Data, Kind: fault.Missing, What: "cannot read", Err: err, Hint: "name the folder of a reward"}
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
		Boundary: fault.Data, Kind: fault.Missing, Where: path, What: "contains no reward that can be built",
		Hint: "name the folder of the source, or create a reward with merit reward new",
	}
}

// SourceOf returns the title of the language of a source file, if it is a compiled language.
func SourceOf(path string) (title string, ok bool) {
	title, ok = map[string]string{
		".go": "Go", ".rs": "Rust", ".c": "C", ".cc": "C++", ".cpp": "C++", ".cxx": "C++", ".ts": "AssemblyScript",
	}[filepath.Ext(path)]
	return title, ok
}

// AnyLanguage says how each compiled language exports the function called name, for a module
// that does not show its language.
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

// has returns a Detect that looks for a file that matches one of patterns.
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
