package disk

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
)

// AllowedVariable names a file of digests, one per line, each optionally followed by a
// name; # starts a comment. If it is set, Merit starts no other plug-in.
const AllowedVariable = "MERIT_PLUGINS_ALLOWED"

// Expectation is what a plug-in must match before Merit starts it.
type Expectation struct {
	Digest string   // hexadecimal SHA-256, with or without the prefix sha256:; empty = any
	Allow  []string // digests as sha256:…; nil = all
}

// Expected returns what starts the plug-in at path, if the plug-in has the expected
// digest, or that of its manifest if none is expected, and is on every list of allowed
// plug-ins.
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
		return refuse(fmt.Sprintf("has SHA-256 %s, not the expected %s", digest, want.Digest), "restore the old plug-in, or start a new run")
	case want.Digest == "" && recorded != "" && digest != recorded: // what the caller expects takes precedence
		return refuse(fmt.Sprintf("has SHA-256 %s, not the %s of its manifest", digest, recorded), "its files changed after it was installed or its manifest was written: install it again, or write the manifest again")
	case want.Allow != nil && !slices.Contains(want.Allow, "sha256:"+digest):
		return refuse(fmt.Sprintf("is not allowed here: sha256:%s is not on the list plugins.allow", digest), "add the digest to the list if you trust the plug-in")
	case !everybody && !slices.Contains(listed, "sha256:"+digest):
		return refuse(fmt.Sprintf("is not allowed here: sha256:%s is not in the file of $%s", digest, AllowedVariable), "ask the list's maintainer to add the digest")
	}
	return CommandOf(path)
}

// allowedByFile reads the file of AllowedVariable. Without the variable, all plug-ins
// are allowed. If the file cannot be read, none is.
func allowedByFile() (digests []string, everybody bool, err error) {
	file := os.Getenv(AllowedVariable)
	if file == "" {
		return nil, true, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, false, &fault.Error{
			Boundary: fault.Config, Kind: fault.Missing, Where: file, What: "cannot read the list of allowed plug-ins", Err: err,
			Hint: "correct $" + AllowedVariable + "; until then Merit starts no plug-in",
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

// CheckDigest returns an error if text is not a digest in the form sha256:…
func CheckDigest(text string) error {
	if validDigest.MatchString(text) {
		return nil
	}
	return fmt.Errorf("%q is not a digest", text)
}
