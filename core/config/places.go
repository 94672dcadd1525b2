package config

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/merit-rl/merit/core/fault"
)

// Places records where each key of a configuration was set, for problems that
// appear only when its values are used.
type Places struct {
	source   string
	lines    map[string]position
	from, to string // a section that was set under another key; "" if there is none
}

// Moved returns p for a configuration whose section to was written to the section from,
// which has the same keys below it: a problem with from names to.
func (p Places) Moved(to, from string) Places {
	p.from, p.to = from, to
	return p
}

// written returns the key path that a person wrote for path.
func (p Places) written(path string) string {
	rest, ok := strings.CutPrefix(path, p.from)
	if p.from == "" || !ok || rest != "" && !strings.ContainsAny(rest[:1], ".[") {
		return path
	}
	return p.to + rest
}

// Of returns the place of a key path for a person: "file:line: key", or the
// override that set it. A key that was not set itself has the place of the
// section around it.
func (p Places) Of(path string) string {
	path = p.written(path)
	return p.at(path).name(p.source, path)
}

// Set reports whether a file or an override set the key itself, or a part of it.
func (p Places) Set(path string) bool {
	_, ok := p.lines[path]
	return ok
}

func (p Places) at(path string) position {
	for key := path; key != ""; key = key[:max(strings.LastIndexAny(key, ".["), 0)] {
		if at, ok := p.lines[key]; ok {
			return at
		}
	}
	return position{}
}

// Explain puts its place before each problem of the configuration in err, whose
// Where is a key path below key, and orders them by line. It drops duplicates.
// Other errors stay unchanged and come last.
func (p Places) Explain(key string, err error) error {
	var found []problem
	type said struct{ what, hint string }
	seen := map[said]bool{}
	for _, e := range fault.Leaves(err) {
		f, ok := e.(*fault.Error)
		if !ok || f.Boundary != fault.Config {
			found = append(found, problem{0, e})
			continue
		}
		path := p.written(strings.TrimSuffix(join(key, f.Where), "."))
		placed, at := *f, p.at(path)
		placed.Where = at.name(p.source, path)
		if once := (said{placed.Error(), placed.Hint}); !seen[once] {
			found = append(found, problem{at.line, &placed})
			seen[once] = true
		}
	}
	return joined(found)
}

// name writes a position and the key that is set there.
func (at position) name(source, path string) string {
	where := cmp.Or(at.source, source)
	if at.line > 0 {
		where = fmt.Sprintf("%s:%d", where, at.line)
	}
	if path == "" || where == "" {
		return where + path
	}
	return where + ": " + path
}
