package cover

import (
	"maps"
	"path"
	"regexp"
	"slices"

	"github.com/merit-rl/merit/sandbox/internal/fuel"
)

// Interpreted describes a script in JavaScript whose interpreter records its own blocks. They tell
// one behavior of the interpreter from another, not where in the script they were reached, so they
// have no file and no line.
func Interpreted(interpreter []byte, limits fuel.Limits, files map[string][]byte) *Map {
	var words Words
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if ext := path.Ext(name); ext == ".js" || ext == ".mjs" {
			literals(&words, files[name])
		}
	}
	m := &Map{Words: words.List()}
	if info, err := fuel.Inspect(interpreter, limits); err == nil {
		m.Places = blocks(interpreter, limits, functions(info), &lineTable{})
	}
	for i := range m.Places {
		m.Places[i].What += " of the interpreter"
	}
	return m
}

// token finds comments, and what may be a word: strings, templates, regular expressions, and
// numbers. It is not a parser: what it takes for a literal by mistake is a useless word.
var token = regexp.MustCompile(`//[^\n]*|/\*(?s:.*?)\*/|'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|` + "`((?:[^`\\\\]|\\\\.)*)`" +
	`|[(,=:[!&|?{};\s]/((?:[^/\\\n*]|\\.)(?:[^/\\\n]|\\.)*)/|\b(\d+(?:\.\d+)?)\b`)

// escape finds the escapes that stand for another character.
var escape = regexp.MustCompile(`\\(.)`)

func literals(words *Words, source []byte) {
	for _, match := range token.FindAllSubmatch(source, -1) {
		for group, text := range match[1:] {
			const expression = 3
			if group != expression {
				text = escape.ReplaceAllFunc(text, unescaped)
			}
			words.Add(string(text))
		}
	}
}

// unescaped returns the character of an escape.
func unescaped(escape []byte) []byte {
	switch escape[1] {
	case 'n':
		return []byte("\n")
	case 't':
		return []byte("\t")
	case 'u', 'x':
		return escape
	}
	return escape[1:]
}
