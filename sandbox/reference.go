package sandbox

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/sandbox/internal/source"
	"github.com/merit-rl/merit/sandbox/internal/text"
)

// Reference says which reward is meant and with which parameters it runs. The
// digest of the reward covers all of it but the place of the file.
type Reference struct {
	// Path is that of a module, of a script, or of the folder of a script.
	Path string
	// Function is the one that scores where a script has several: the name of a
	// function in Python, of an export in JavaScript. Empty means the script's
	// own choice. A module has one and refuses a name.
	Function string
	// With are parameters for the function: a JSON object of at most 64 KiB that
	// reaches Python as keyword arguments and JavaScript as the second argument.
	// Nil, null and an empty object are
	// none. A module takes none.
	With json.RawMessage
	// Batch says that one call of a script scores several trajectories: "group"
	// for the members of a group, or a number for as many that follow each other.
	// Empty means what the script says of itself.
	Batch string
}

// String is what ParseReference reads; it says nothing of With and Batch.
func (r Reference) String() string {
	if r.Function == "" {
		return r.Path
	}
	return r.Path + ":" + r.Function
}

var identifier = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*$`)

// ParseReference reads a path, or a path and a function with a colon between
// them: reward.py:score. What stands behind the last colon is a function unless
// there is a dot or a slash in it; a path that ends so is written with a slash
// at its end. The error is a *fault.Error.
func ParseReference(s string) (Reference, error) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 || strings.ContainsAny(s[i+1:], `./\`) {
		return Reference{Path: s}, nil
	}
	r := Reference{Path: s[:i], Function: s[i+1:]}
	if r.Path == "" || !identifier.MatchString(r.Function) {
		return Reference{}, &fault.Error{
			Boundary: fault.Sandbox, Kind: fault.Invalid, Where: text.Escape(s), What: "this names no function behind the colon",
			Hint: "write file.py:function, or the path alone; a folder whose name has a colon ends with a slash",
		}
	}
	return r, nil
}

// ParseParameters reads the text of With: one JSON object in which no key occurs
// twice. Its numbers are json.Number. The error is a *fault.Error.
func ParseParameters(s string) (map[string]any, error) { return source.Parameters("", []byte(s)) }

// LoadReference loads the reward that ref names, as LoadFile does. The error is
// a *fault.Error: a function that the script does not have lists those it has,
// a parameter that the function does not take names the nearest.
func (r *Runtime) LoadReference(ctx context.Context, ref Reference) (*Module, error) {
	s, err := ref.source(r.config.sizes())
	if err != nil {
		return nil, err
	}
	return r.load(ctx, s)
}

func (r Reference) source(most source.Sizes) (source.Source, error) {
	return source.File(r.Path, source.Choice{Function: r.Function, With: r.With, Batch: r.Batch}, languages(), most)
}
