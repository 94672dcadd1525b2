// Package packages adds packages of Python to a reward: it lets the user's pip choose
// versions, as pip would for a program of the user's own, and unpacks those that run in the
// sandbox into the folder packages beside reward.py.
package packages

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/merit-rl/merit/core/fault"
)

// Folder is the folder of packages beside reward.py, which the sandbox searches for imports.
const Folder = "packages"

// requirementsFile lists the versions, in the form that pip reads.
const requirementsFile = "requirements.txt"

// Package is one package of a reward.
type Package struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Digest  string `json:"digest,omitempty"` // sha256 of the archive that was unpacked
	// From says where the package comes from: the interpreter, a wheel, a wheel without
	// its native parts, or a source distribution.
	From string `json:"from"`
}

// The sources of a package.
const (
	BuiltIn   = "interpreter"
	wheel     = "wheel"
	withoutSo = "wheel, without its optional native part"
	source    = "source distribution"
)

// Request is what is added to which reward.
type Request struct {
	Folder  string            // of reward.py
	Wanted  []string          // as for pip: sympy, sympy==1.14.0, "networkx<4"; none: only those of requirements.txt
	Python  string            // the Python that runs pip
	BuiltIn map[string]string // versions of packages that the interpreter includes, by name
}

// Add chooses versions of the wanted packages, of those in requirements.txt, and of all that
// they need, unpacks them and writes requirements.txt. The folder changes only at the end,
// and as a whole. The error has one *fault.Error for each package that cannot run in the
// sandbox, or one of pip.
func Add(ctx context.Context, r Request) ([]Package, error) {
	before, err := readRequirements(filepath.Join(r.Folder, requirementsFile))
	if err != nil {
		return nil, err
	}
	if err := refused(r.Wanted); err != nil {
		return nil, err
	}
	return r.install(ctx, before, merged(before, r.Wanted))
}

// install makes the folder that of what pip chooses for the specs. before has the digests of
// versions that must stay what they are.
func (r Request) install(ctx context.Context, before []requirement, specs []string) ([]Package, error) {
	scratch, err := os.MkdirTemp(r.Folder, ".packages-")
	if err != nil {
		return nil, &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, Where: r.Folder, What: "packages cannot be stored there", Hint: "name the folder of a reward that you can write to", Err: err}
	}
	defer os.RemoveAll(scratch)
	p := pip{ctx: ctx, python: r.Python, scratch: scratch}
	chosen, err := p.resolve(specs, r.BuiltIn)
	if err != nil {
		return nil, err
	}
	fresh := filepath.Join(scratch, Folder)
	if err := os.Mkdir(fresh, 0o755); err != nil {
		return nil, err
	}
	all, err := p.fetchAll(chosen, before, fresh)
	if err != nil {
		return nil, err
	}
	return all, place(r.Folder, fresh, all)
}

// fetchAll unpacks every chosen package, and collects what is wrong with any.
func (p pip) fetchAll(chosen []choice, before []requirement, into string) (all []Package, err error) {
	var problems []error
	for _, c := range chosen {
		one, err := p.fetch(c, into)
		if err == nil {
			err = c.check(before, one)
		}
		if err != nil {
			problems = append(problems, err)
		}
		all = append(all, one)
	}
	return all, errors.Join(problems...)
}

// place moves the fresh packages into the reward's folder, in exchange for those before, and
// writes requirements.txt.
func place(folder, fresh string, all []Package) error {
	target := filepath.Join(folder, Folder)
	if err := os.Rename(target, fresh+".before"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if found, err := os.ReadDir(fresh); err != nil || len(found) > 0 {
		if err := errors.Join(err, os.Rename(fresh, target)); err != nil {
			return err
		}
	}
	return renameio.WriteFile(filepath.Join(folder, requirementsFile), []byte(written(all)), 0o644)
}

// requirement is one line of requirements.txt.
type requirement struct {
	line         string // as for pip
	name, digest string
}

// digestMark begins the digest of a package in a comment: pip's own form of hashes would
// need those of the packages that the interpreter includes, on every platform.
const digestMark = "# sha256:"

func readRequirements(path string) (all []requirement, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var problems []error
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		spec, comment, _ := strings.Cut(line, "#")
		spec = strings.TrimSpace(spec)
		_, digest, _ := strings.Cut("#"+comment, digestMark)
		switch {
		case spec == "":
		case nameOf(spec) == "":
			problems = append(problems, &fault.Error{
				Boundary: fault.Data, Kind: fault.Invalid, Where: fmt.Sprintf("%s:%d", path, number), What: fmt.Sprintf("%q is not the name of a package", spec),
				Hint: "write one package a line, such as sympy==1.14.0; options of pip are not read here",
			})
		default:
			all = append(all, requirement{spec, nameOf(spec), strings.TrimSpace(digest)})
		}
	}
	return all, errors.Join(problems...)
}

// nameOf returns the name that a requirement begins with, as pip compares names; "" if it
// begins with none.
func nameOf(spec string) string {
	end := strings.IndexFunc(spec, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_.", r))
	})
	if end < 0 {
		end = len(spec)
	}
	name, rest := spec[:end], strings.TrimLeft(spec[end:], " ")
	if name != strings.Trim(name, "-_.") || rest != "" && !strings.ContainsRune("=<>!~[;@", rune(rest[0])) {
		return ""
	}
	return normal(name)
}

// normal is a name as pip compares it (PEP 503).
func normal(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "-", ".", "-").Replace(name))
}

// merged returns the requirements for pip: those before, unless wanted names the package.
func merged(before []requirement, wanted []string) []string {
	named := map[string]bool{}
	for _, w := range wanted {
		named[nameOf(w)] = true
	}
	all := slices.Clone(wanted)
	for _, b := range before {
		if !named[b.name] {
			all = append(all, b.line)
		}
	}
	return all
}

func written(all []Package) string {
	var b strings.Builder
	b.WriteString("# Written by merit reward add. Each digest belongs to the archive of a package in " + Folder + ".\n")
	for _, p := range all {
		mark := digestMark + p.Digest
		if p.From == BuiltIn {
			mark = "# part of the interpreter"
		}
		fmt.Fprintf(&b, "%s==%s  %s\n", p.Name, p.Version, mark)
	}
	return b.String()
}
