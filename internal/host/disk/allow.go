package disk

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
)

// AllowedVariable names a file of digests, one a line, optionally followed by a
// name; # begins a comment. Where it is set, no other plug-in is started.
const AllowedVariable = "MERIT_PLUGINS_ALLOWED"

// Expectation is what a plug-in must be to be started.
type Expectation struct {
	Digest string   // hexadecimal SHA-256, with or without sha256: before it; empty = any
	Allow  []string // digests as sha256:…; nil = all
}

// Expected returns what starts the plug-in at path, if it is what was expected,
// what its own manifest says, and on every list of those allowed.
func Expected(path string, want Expectation) (Command, error) {
	f, err := formOf(path)
	if err != nil {
		return Command{}, err
	}
	want.Digest = strings.TrimPrefix(want.Digest, "sha256:")
	listed, everybody, err := allowedByFile()
	if err != nil {
		return Command{}, err
	}
	recorded := ""
	if f == folder {
		m, err := ReadManifest(path)
		if err != nil {
			return Command{}, err
		}
		recorded = strings.TrimPrefix(m.Digest, "sha256:")
	}
	if want.Digest == "" && want.Allow == nil && everybody && recorded == "" {
		return CommandOf(path)
	}
	digest, err := Digest(path)
	if err != nil {
		return Command{}, err
	}
	refuse := func(what, hint string) (Command, error) {
		return Command{}, &fault.Error{Boundary: fault.Plugin, Kind: fault.Refused, Where: path, What: what, Hint: hint}
	}
	switch {
	case want.Digest != "" && digest != want.Digest:
		return refuse(fmt.Sprintf("has SHA-256 %s, not the expected %s", digest, want.Digest), "the plug-in was replaced; put the old one back or start a new run")
	case recorded != "" && digest != recorded:
		return refuse(fmt.Sprintf("has SHA-256 %s, not the %s of its manifest", digest, recorded), "its files were changed after its installation; install it again")
	case want.Allow != nil && !slices.Contains(want.Allow, "sha256:"+digest):
		return refuse(fmt.Sprintf("is not allowed here: sha256:%s is not on the list plugins.allow", digest), "add the digest to the list, if you trust the plug-in")
	case !everybody && !slices.Contains(listed, "sha256:"+digest):
		return refuse(fmt.Sprintf("is not allowed here: sha256:%s is not in the file of $%s", digest, AllowedVariable), "ask whoever keeps the list to add the digest")
	}
	return CommandOf(path)
}

// allowedByFile reads the file of AllowedVariable. Without one, everybody is
// allowed; one that cannot be read allows nobody.
func allowedByFile() (digests []string, everybody bool, err error) {
	file := os.Getenv(AllowedVariable)
	if file == "" {
		return nil, true, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, false, &fault.Error{
			Boundary: fault.Config, Kind: fault.Missing, Where: file, What: "the list of plug-ins that are allowed cannot be read", Err: err,
			Hint: "correct $" + AllowedVariable + "; until then no plug-in is started",
		}
	}
	var wrong []error
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		entry, _, _ := strings.Cut(line, "#")
		words := strings.Fields(entry)
		if len(words) == 0 {
			continue
		}
		if err := CheckDigest(words[0]); err != nil {
			wrong = append(wrong, &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: fmt.Sprintf("%s:%d", file, n), What: err.Error(), Hint: "write sha256: and 64 hexadecimal digits"})
			continue
		}
		digests = append(digests, words[0])
	}
	return digests, false, joined(wrong)
}

// CheckDigest reports why text is not a digest in the form sha256:…
func CheckDigest(text string) error {
	if validDigest.MatchString(text) {
		return nil
	}
	return fmt.Errorf("%q is not a digest", text)
}
