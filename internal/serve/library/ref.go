package library

import (
	"errors"
	"regexp"
	"strings"

	"github.com/merit-rl/merit/core/fault"
)

// Latest is the alias that every upload moves, and the one that a name alone
// means.
const Latest = "latest"

// Ref names a reward: name (its latest), name@alias, name@sha256:…, or
// sha256:… alone.
type Ref struct{ Name, Alias, Digest string }

var (
	word   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`) // of at most 128 bytes
	digest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
)

func isWord(s string) bool { return len(s) <= 128 && word.MatchString(s) }

// ParseRef reads a reference. The *fault.Error lists every problem of it.
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
		wrong = append(wrong, badRef(s, "the digest is not sha256: and 64 lower-case hexadecimal digits"))
	case !isWord(rest):
		wrong = append(wrong, badRef(s, "the alias "+quote(rest)+" is not allowed"))
	}
	return Ref{Name: name, Alias: rest}, errors.Join(wrong...)
}

func badRef(s, what string) error {
	return &fault.Error{
		Boundary: fault.Data, Kind: fault.Invalid, Where: "reward " + quote(s), What: what,
		Hint: "write name, name@alias, name@sha256:… or sha256:…; names and aliases are letters, digits, dots, dashes and underlines, at most 128",
	}
}

// String is the reference as ParseRef reads it.
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

// alias is the one that r means where it names no digest.
func (r Ref) alias() string {
	if r.Alias == "" {
		return Latest
	}
	return r.Alias
}
