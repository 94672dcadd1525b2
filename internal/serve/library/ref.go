package library

import (
	"errors"
	"regexp"
	"strings"

	"github.com/merit-rl/merit/core/fault"
)

// Latest is the alias that every upload moves. A name alone refers to it.
const Latest = "latest"

// Ref refers to a reward: name (its latest version), name@alias, name@sha256:…, or sha256:…
// alone.
type Ref struct{ Name, Alias, Digest string }

var (
	word   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`) // limited to 128 bytes by isWord
	digest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
)

func isWord(s string) bool { return len(s) <= 128 && word.MatchString(s) }

// ParseRef parses a reference. The error lists every problem.
func ParseRef(s string) (Ref, error) {
	if digest.MatchString(s) {
		return Ref{Digest: s}, nil
	}
	name, rest, has := strings.Cut(s, "@")
	var wrong []error
	if !isWord(name) {
		wrong = append(wrong, badRef(s, "the name "+quote(name)+" is not allowed"))
	}
	switch {
	case !has:
		return Ref{Name: name}, errors.Join(wrong...)
	case digest.MatchString(rest):
		return Ref{Name: name, Digest: rest}, errors.Join(wrong...)
	case strings.HasPrefix(rest, "sha256:"):
		wrong = append(wrong, badRef(s, "the digest is not sha256: and 64 lowercase hexadecimal digits"))
	case !isWord(rest):
		wrong = append(wrong, badRef(s, "the alias "+quote(rest)+" is not allowed"))
	}
	return Ref{Name: name, Alias: rest}, errors.Join(wrong...)
}

func badRef(s, what string) error {
	return &fault.Error{
		Boundary: fault.Data, Kind: fault.Invalid, Where: "reward " + quote(s), What: what,
		Hint: "use name, name@alias, name@sha256:… or sha256:…; names and aliases have at most 128 letters, digits, dots, dashes and underscores",
	}
}

// String returns the reference in the form that ParseRef reads.
func (r Ref) String() string {
	switch {
	case r.Name == "":
		return r.Digest
	case r.Digest != "":
		return r.Name + "@" + r.Digest
	case r.Alias != "":
		return r.Name + "@" + r.Alias
	}
	return r.Name
}

// alias returns the alias that r refers to if it names no digest.
func (r Ref) alias() string {
	if r.Alias == "" {
		return Latest
	}
	return r.Alias
}
