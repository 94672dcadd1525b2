package packages

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// pip is the user's pip. Its settings, such as another index, are the user's.
type pip struct {
	ctx             context.Context
	python, scratch string
}

// run runs pip and returns what it writes. The error has the last lines of what it said.
func (p pip) run(args ...string) ([]byte, error) {
	cmd := exec.CommandContext(p.ctx, p.python, append([]string{"-m", "pip", "--disable-pip-version-check", "--no-input"}, args...)...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return nil, &fault.Error{
			Boundary: fault.Data, Kind: fault.Missing, Where: p.python + " -m pip", What: lastError(said.String()),
			Hint: "check the name and the version, and that pip (23 or later) reaches its index", Err: err,
		}
	}
	return out.Bytes(), nil
}

// lastError is the last error that pip reported: earlier ones list every version of a package.
func lastError(said string) string {
	const mark = "ERROR: "
	if at := strings.LastIndex(said, mark); at >= 0 {
		said = said[at+len(mark):]
	}
	said, _, _ = strings.Cut(strings.TrimSpace(said), "\n")
	return said
}

// choice is a package that pip has chosen.
type choice struct {
	name, version string
	archive       string // the file's name
	builtIn       bool
}

// resolve lets pip choose the version of each wanted package and of all that they need, as
// for a program of the user's own, but with the interpreter's versions of what it includes.
func (p pip) resolve(wanted []string, builtIn map[string]string) ([]choice, error) {
	if len(wanted) == 0 {
		return nil, nil
	}
	var fixed strings.Builder
	for name, version := range builtIn {
		fmt.Fprintf(&fixed, "%s==%s\n", name, version)
	}
	constraints := filepath.Join(p.scratch, "constraints.txt")
	if err := os.WriteFile(constraints, []byte(fixed.String()), 0o600); err != nil {
		return nil, err
	}
	report := filepath.Join(p.scratch, "report.json")
	args := []string{"install", "--quiet", "--dry-run", "--ignore-installed", "--report", report, "--constraint", constraints, "--"}
	if _, err := p.run(append(args, wanted...)...); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(report)
	if err != nil {
		return nil, err
	}
	return choices(text, builtIn)
}

// choices reads pip's report (version 1 of its format).
func choices(report []byte, builtIn map[string]string) (all []choice, err error) {
	var r struct {
		Install []struct {
			Metadata struct {
				Name    string `json:"name"`
				Version string `json:"version"`
			} `json:"metadata"`
			Download struct {
				URL string `json:"url"`
			} `json:"download_info"`
		} `json:"install"`
	}
	if err := strictjson.Unmarshal(report, &r); err != nil {
		return nil, fmt.Errorf("pip's report: %w", err)
	}
	for _, i := range r.Install {
		where, err := url.Parse(i.Download.URL)
		if err != nil || i.Metadata.Name == "" || i.Metadata.Version == "" {
			return nil, fmt.Errorf("pip's report has a package without a name, a version or an address: %q %q: %w", i.Metadata.Name, i.Metadata.Version, err)
		}
		name := normal(i.Metadata.Name)
		all = append(all, choice{name: name, version: i.Metadata.Version, archive: path.Base(where.Path), builtIn: builtIn[name] == i.Metadata.Version})
	}
	slices.SortFunc(all, func(a, b choice) int { return cmp.Compare(a.name, b.name) })
	return all, nil
}

// optional are packages whose wheels have native code that they do without.
var optional = []string{"markupsafe", "pyyaml", "rapidfuzz"}

// fetch downloads a package and unpacks it.
func (p pip) fetch(c choice, into string) (Package, error) {
	one := Package{Name: c.name, Version: c.version, From: BuiltIn}
	if c.builtIn {
		return one, nil
	}
	folder := filepath.Join(p.scratch, "archives", c.name)
	var err error
	if one.From, err = p.archive(c, folder); err != nil {
		return one, err
	}
	one.Digest, err = unpackOnly(folder, into, one.From == withoutSo)
	return one, err
}

// archive downloads the wheel of a package: the one that pip has chosen if any machine can
// use it, or else another of the same version. A wheel is built only where there is none.
func (p pip) archive(c choice, folder string) (from string, err error) {
	exactly := c.name + "==" + c.version
	get := []string{"download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", folder}
	switch {
	case strings.HasSuffix(c.archive, "-none-any.whl"):
		_, err = p.run(append(get, "--", exactly)...)
		return wheel, err
	case !strings.HasSuffix(c.archive, ".whl"):
		_, err = p.run("wheel", "--quiet", "--no-deps", "--wheel-dir", folder, "--", exactly)
		return source, err
	}
	if _, err := p.run(slices.Concat(get, []string{"--platform", "any", "--implementation", "py", "--abi", "none", "--", exactly})...); err == nil {
		return wheel, nil
	}
	if slices.Contains(optional, c.name) {
		_, err = p.run(append(get, "--", exactly)...)
		return withoutSo, err
	}
	return "", native(c.name, instead[c.name])
}

// check compares a package with the digest in requirements.txt, if that names its version.
func (c choice) check(before []requirement, one Package) error {
	for _, b := range before {
		if b.name == c.name && b.digest != "" && b.digest != one.Digest && strings.HasSuffix(b.line, "=="+c.version) {
			return &fault.Error{
				Boundary: fault.Data, Kind: fault.Refused, Where: c.name + " " + c.version, What: fmt.Sprintf("the archive has the digest %s, not %s as in requirements.txt", one.Digest, b.digest),
				Hint: "the index sent another file than before: do not use it, or remove the line from requirements.txt if you trust it",
			}
		}
	}
	return nil
}
