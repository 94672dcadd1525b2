// Package cover says where the places of a reward are that an evaluation reached, and which words
// the reward contains. Its input is not trusted: what it returns is bounded and safe to show.
package cover

import (
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/merit-rl/merit/sandbox/internal/fuel"
	"github.com/merit-rl/merit/sandbox/internal/text"
)

// Limits of what a reward says about itself.
const (
	MostWords   = 4096
	longestWord = 256 // bytes
	longestName = 256 // bytes
)

// Place is where a bit of the coverage belongs. File is empty and Line 0 where they are not known.
type Place struct {
	File string
	Line int
	What string // the function, or the branch
}

// Map describes the coverage of a reward.
type Map struct {
	Places []Place
	Words  []string // sorted, each once
}

// Compiled describes a compiled module that passed the gate.
func Compiled(wasm []byte, limits fuel.Limits) *Map {
	info, err := fuel.Inspect(wasm, limits)
	if err != nil {
		return &Map{}
	}
	var words Words
	names := functions(info)
	fuel.Literals(wasm, limits, authored(names), words.Add)
	return &Map{Places: blocks(wasm, limits, names, linesOf(info)), Words: words.List()}
}

// blocks returns the places of a module that the meter marks.
func blocks(wasm []byte, limits fuel.Limits, names map[int]string, lines *lineTable) []Place {
	blocks, err := fuel.Places(wasm, limits)
	if err != nil {
		return nil
	}
	places := make([]Place, len(blocks))
	for i, b := range blocks {
		if places[i].What = names[b.Func]; places[i].What == "" {
			places[i].What = fmt.Sprintf("function %d", b.Func)
		}
		places[i].File, places[i].Line = lines.at(uint64(b.At))
	}
	return places
}

// Words collects words up to a limit.
type Words struct{ known map[string]struct{} }

// Add adds a word and reports whether there is room for more.
func (w *Words) Add(word string) bool {
	if len(w.known) >= MostWords {
		return false
	}
	if word == "" || len(word) > longestWord || !utf8.ValidString(word) {
		return true
	}
	if w.known == nil {
		w.known = map[string]struct{}{}
	}
	w.known[word] = struct{}{}
	return true
}

// List returns the words, sorted.
func (w *Words) List() []string { return slices.Sorted(maps.Keys(w.known)) }

// Name makes a name from a reward safe to show.
func Name(said string) string {
	if len(said) > longestName {
		said = said[:longestName]
	}
	return text.Escape(said)
}
