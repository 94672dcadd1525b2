package sandbox

import (
	"github.com/merit-rl/merit/sandbox/internal/language/javascript"
	"github.com/merit-rl/merit/sandbox/internal/language/python"
	"github.com/merit-rl/merit/sandbox/internal/source"
)

// languages lists the script languages, one for each folder of
// internal/language.
func languages() source.Languages {
	return source.Languages{
		python.Language{},
		javascript.Language{},
	}
}

// IsScript reports whether LoadFile treats path as a script, which needs no
// build: a file, or a folder with a script called reward.
func IsScript(path string) bool { return languages().Of(path) != nil }
