package cover

import (
	"encoding/binary"
	"regexp"
	"strings"

	"github.com/merit-rl/merit/sandbox/internal/fuel"
)

// functionNames is the subsection of the section "name" with the names of functions.
const functionNames = 1

// functions returns the names of functions by their indices. The section is not checked by the
// gate: what does not parse ends it.
func functions(info *fuel.Info) map[int]string {
	names := map[int]string{}
	for _, c := range info.Custom {
		if c.Name == "name" {
			for r := (reader{c.Content}); len(r.data) > 0; {
				id := r.number()
				if content := r.take(r.number()); id == functionNames {
					nameFunctions(names, &reader{content})
				}
			}
		}
	}
	return names
}

func nameFunctions(names map[int]string, r *reader) {
	for n := r.number(); n > 0 && len(r.data) > 0; n-- {
		index := r.number()
		names[int(index)] = Name(string(r.take(r.number())))
	}
}

// foreign begins the names of Go's functions in packages with a domain: the linker writes _ for what
// is not a letter, a digit or a dot.
var foreign = regexp.MustCompile(`^[A-Za-z0-9-]+\.[a-z]{2,4}_`)

// authored reports which functions belong to the author of a reward in Go, whose module holds the
// whole runtime with its thousands of texts; it is nil for other languages.
func authored(names map[int]string) func(function int) bool {
	for _, name := range names {
		if name == "runtime.mallocgc" {
			return func(function int) bool {
				return strings.HasPrefix(names[function], "main.") || foreign.MatchString(names[function])
			}
		}
	}
	return nil
}

// reader reads numbers in LEB128 and bytes; it is empty after an error.
type reader struct{ data []byte }

func (r *reader) number() uint64 {
	v, n := binary.Uvarint(r.data)
	if n <= 0 {
		r.data = nil
		return 0
	}
	r.data = r.data[n:]
	return v
}

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.data)) {
		r.data = nil
		return nil
	}
	taken := r.data[:n]
	r.data = r.data[n:]
	return taken
}
