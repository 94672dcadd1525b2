package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/sandbox/internal/source"
	"github.com/merit-rl/merit/sandbox/internal/text"
)

// Reference names a reward and the parameters with which it runs. The digest of
// the reward covers all of it except the location of the file.
type Reference struct {
	// Path is the path of a module, a script, or the folder of a script.
	Path string
	// Function is the function that scores, if a script has several: the name
	// of a function in Python, of an export in JavaScript. If empty, the script
	// chooses. A module has only one function, and a name is an error.
	Function string
	// With are parameters for the function: a JSON object of at most 64 KiB,
	// passed as keyword arguments in Python and as the second argument in
	// JavaScript. Nil, null and an empty object mean no parameters. A module
	// takes none.
	With json.RawMessage
	// Batch makes one call of a script score several trajectories: "group" for
	// the members of a group, or a number for that many consecutive
	// trajectories. If empty, the script decides.
	Batch string
}

// String returns the text that ParseReference reads. It omits With and Batch.
func (r Reference) String() string {
	if r.Function == "" {
		return r.Path
	}
	return r.Path + ":" + r.Function
}

var identifier = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*$`)

// ParseReference parses a path, or a path and a function with a colon between
// them: reward.py:score. The text after the last colon is a function unless it
// contains a dot or a slash. If a path ends in this way, write a slash at its
// end. The error is a *fault.Error.
func ParseReference(s string) (Reference, error) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 || strings.ContainsAny(s[i+1:], `./\`) {
		return Reference{Path: s}, nil
	}
	r := Reference{Path: s[:i], Function: s[i+1:]}
	if r.Path == "" || !identifier.MatchString(r.Function) {
		return Reference{}, &fault.Error{
			Boundary: fault.Sandbox, Kind: fault.Invalid, Where: text.Escape(s), What: "the text after the colon is not the name of a function",
			Hint: "write file.py:function, or only the path; add a slash to a folder whose name contains a colon",
		}
	}
	return r, nil
}

// ParseParameters parses the text of With: one JSON object without repeated
// keys. Its numbers are json.Number. The error is a *fault.Error.
func ParseParameters(s string) (map[string]any, error) { return source.Parameters("", []byte(s)) }

// LoadReference loads the reward that ref names, as LoadFile does. The error is
// a *fault.Error. If the script does not have the function, the error lists its
// functions; if the function does not take a parameter, it names the nearest
// one.
func (r *Runtime) LoadReference(ctx context.Context, ref Reference) (*Module, error) {
	s, err := ref.source(r.config.sizes(), r.config.languages())
	if err != nil {
		return nil, err
	}
	return r.load(ctx, s)
}

// LoadAsking is LoadReference for a reward that may ask a. What determines the answers is
// part of the digest of the module.
func (r *Runtime) LoadAsking(ctx context.Context, ref Reference, a reward.Answerer) (*Module, error) {
	s, err := ref.source(r.config.sizes(), r.config.languages())
	if err != nil {
		return nil, err
	}
	s.Asks = true
	m, err := r.load(ctx, s)
	if err == nil {
		m.answerer, m.info.InFlight = a, a.InFlight()
		m.info.Digest = AskingDigest(m.info.Digest, a)
	}
	return m, err
}

// AskingDigest returns the digest of a reward that may ask a, from the digest of its bundle.
func AskingDigest(digest string, a reward.Answerer) string {
	return fmt.Sprintf("sha256:%x", sha256.Sum256(fmt.Appendf(nil, "reward that asks 1 %s %q", digest, a.Identity())))
}

func (r Reference) source(most source.Sizes, known source.Languages) (source.Source, error) {
	return source.File(r.Path, source.Choice{Function: r.Function, With: r.With, Batch: r.Batch}, known, most)
}
