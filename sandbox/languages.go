package sandbox

import (
	"cmp"
	"slices"
	"sync"

	"github.com/merit-rl/merit/sandbox/internal/language/javascript"
	"github.com/merit-rl/merit/sandbox/internal/language/python"
	"github.com/merit-rl/merit/sandbox/internal/source"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

// resolved holds the languages by the folder of the interpreters. The choice between the
// builds of an interpreter is made once: what is installed later changes no result of this
// process.
var resolved sync.Map

// languages lists the script languages, one for each folder of internal/language, as the
// interpreters in a folder run them; "" is interpreter.Folder.
func languages(folder string) source.Languages {
	folder = cmp.Or(folder, interpreter.Folder())
	if known, ok := resolved.Load(folder); ok {
		return known.(source.Languages)
	}
	list := source.Languages{python.New(folder), javascript.New(folder)}
	for _, l := range list {
		if !l.Interpreter().Installed(folder) {
			return list // the choice is made when one is installed
		}
	}
	known, _ := resolved.LoadOrStore(folder, list)
	return known.(source.Languages)
}

func (c Config) languages() source.Languages { return languages(c.InterpreterDir) }

// IsScript reports whether LoadFile treats path as a script, which needs no
// build: a file, or a folder with a script called reward.
func IsScript(path string) bool { return languages("").Of(path) != nil }

// chosen returns the languages of a worker process: on the builds with these digests, which
// the process that started it has chosen.
func chosen(folder string, digests []string) source.Languages {
	list := slices.Clone(languages(folder))
	for n, l := range list {
		for _, build := range l.Interpreter().Builds() {
			switch known := slices.Contains(digests, build.Digest); {
			case known && l.Extension() == ".py":
				list[n] = python.On(build, folder)
			case known:
				list[n] = javascript.On(build)
			}
		}
	}
	return list
}
