package sandbox

import (
	"github.com/merit-rl/merit/sandbox/internal/language/javascript"
	"github.com/merit-rl/merit/sandbox/internal/language/python"
	"github.com/merit-rl/merit/sandbox/internal/source"
)

// languages lists the languages of scripts: one line for each folder of
// internal/language.
func languages() source.Languages {
	return source.Languages{
		python.Language{},
		javascript.Language{},
	}
}

// IsScript reports whether LoadFile takes path for a script, which needs no
// build: a file, or a folder with a script called reward.
func IsScript(path string) bool { return languages().Of(path) != nil }
