package trial

import (
	"context"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/merit-rl/merit/internal/base/box"
	"github.com/merit-rl/merit/internal/harbor/image"
)

// Flag is a red flag: an agent changed what its verifier relies on.
type Flag struct {
	Path string `json:"path"`
	// What says what became of it in the verifier's box.
	What Fate `json:"what"`
}

// String is the flag as a sentence says it.
func (f Flag) String() string {
	switch f.What {
	case Removed:
		return fmt.Sprintf("the agent added %s, which the verifier did not get", f.Path)
	case Kept:
		return fmt.Sprintf("the agent changed %s, which the tests name", f.Path)
	}
	return fmt.Sprintf("the agent changed %s, which the verifier got unchanged", f.Path)
}

// Fate is what became of a change of an agent.
type Fate string

// The fates.
const (
	Restored Fate = "restored" // it is what it was before the agent
	Removed  Fate = "removed"
	Kept     Fate = "kept"
)

// guard knows what of an image an agent has no reason to change: the programs and the libraries
// of the system that the task's own build left unchanged, and what programs read without being
// told to. A guard without an image guards nothing, such as that of a container.
type guard struct {
	image    box.Restorer
	built    map[string]bool // what the build changed
	programs map[string]bool // the names of the system's programs
	dir      string          // the working directory
	path     []string        // the folders in which programs are found
}

// guarded compares an image with a new box.
func guarded(ctx context.Context, m box.Maker, i *image.Image) (g guard, err error) {
	r, ok := i.Box.(box.Restorer)
	if !ok {
		return g, nil
	}
	base, err := m.New(ctx)
	if err != nil {
		return g, err
	}
	defer func() { _ = base.Close() }()
	g = guard{image: r, built: map[string]bool{}, programs: map[string]bool{}, dir: i.Dir, path: []string{"/root/.local/bin", "/root/bin"}}
	for _, c := range r.Changes(base) {
		g.built[c.Path] = true
	}
	for _, pair := range i.Env {
		if list, ok := strings.CutPrefix(pair, "PATH="); ok {
			g.path = append(g.path, strings.Split(list, ":")...)
		}
	}
	for _, dir := range []string{"/usr/bin", "/usr/local/bin"} {
		files, err := base.Files(dir)
		if err != nil {
			return g, err
		}
		for _, f := range files {
			g.programs[path.Base(f.Path)] = f.Mode.IsRegular()
		}
	}
	return g, nil
}

// owning is a guard that takes what changed since before for the task's rather than the agent's.
func (g guard) owning(b, before box.Box) guard {
	if r, ok := b.(box.Restorer); ok && g.image != nil {
		g.built = maps.Clone(g.built)
		for _, c := range r.Changes(before) {
			g.built[c.Path] = true
		}
	}
	return g
}

// clean undoes in the box of a verifier what the agent changed of the system, and lists it.
func (g *guard) clean(b box.Box, tests []box.File) (flags []Flag, err error) {
	r, ok := b.(box.Restorer)
	if g.image == nil || !ok {
		return nil, nil
	}
	var undo []string
	for _, c := range r.Changes(g.image) {
		f := Flag{c.Path, g.judge(r, c, tests)}
		if f.What == "" {
			continue
		}
		if n := len(flags); n == 0 || !strings.HasPrefix(f.Path, flags[n-1].Path+"/") { // else it says everything in it
			flags = append(flags, f)
		}
		if f.What != Kept {
			undo = append(undo, f.Path)
		}
	}
	return flags, r.Restore(g.image, undo...)
}

// judge says what becomes of a change; nothing if an agent may make it.
func (g *guard) judge(b box.Box, c box.Change, tests []box.File) Fate {
	if g.built[c.Path] {
		return ""
	}
	undone := Restored
	if !c.Was {
		undone = Removed
	}
	switch {
	case c.Was && system(c.Path), !c.Was && g.shadows(b, c.Path), g.reads(c.Path):
		return undone
	case startup[path.Base(c.Path)] && path.Dir(c.Path) != g.dir || strings.HasPrefix(c.Path, "/etc/profile.d/"):
		return named(path.Base(c.Path), undone, tests)
	}
	return ""
}

// system reports whether a path is one of the system's programs and libraries.
func system(name string) bool {
	for _, dir := range []string{"/usr", "/bin", "/sbin", "/lib", "/dev", "/root/.local/bin/env"} {
		if name == dir || strings.HasPrefix(name, dir+"/") {
			return true
		}
	}
	return false
}

// shadows reports whether a file that the agent added runs in place of a program of the system,
// or is found by Python before what was installed. A link to the program does no harm, such as
// those of a virtual environment.
func (g *guard) shadows(b box.Box, name string) bool {
	if strings.HasPrefix(name, "/usr/local/lib/python3") || strings.HasPrefix(name, "/usr/local/lib/merit") || strings.HasPrefix(name, "/dev/") {
		return true
	}
	dir, base := path.Split(name)
	if !g.programs[base] || !slices.Contains(g.path, path.Clean(dir)) {
		return false
	}
	files, err := b.Files(name)
	if err != nil || len(files) == 0 {
		return true
	}
	to := path.Clean(path.Join("/", dir, string(files[0].Data)))
	if path.IsAbs(string(files[0].Data)) {
		to = path.Clean(string(files[0].Data))
	}
	return files[0].Mode.IsRegular() || path.Base(to) != base || path.Dir(to) != "/usr/bin" && path.Dir(to) != "/usr/local/bin"
}

// reads reports whether Python or pytest read a file without being told to: everywhere what
// customizes the interpreter, and in the folder above the tests what configures pytest.
func (g *guard) reads(name string) bool {
	dir, base := path.Split(name)
	switch strings.TrimSuffix(base, ".py") {
	case "sitecustomize", "usercustomize":
		return true
	}
	return configures[base] && dir == "/" && g.dir != "/"
}

var (
	configures = map[string]bool{"conftest.py": true, "pytest.ini": true, ".pytest.ini": true, "pytest.toml": true, ".pytest.toml": true, "pyproject.toml": true, "tox.ini": true, "setup.cfg": true, "setup.py": true}
	startup    = map[string]bool{".bashrc": true, ".profile": true, ".bash_profile": true, ".bash_login": true, "profile": true, "bash.bashrc": true}
)

// named says what becomes of a file of the shell's start. Shells here do not read it without
// being told to: test.sh does, and then it runs with everything as it was, or another test does,
// for which the change may be the task.
func named(base string, undone Fate, tests []box.File) (f Fate) {
	source := regexp.MustCompile(`(?m)(^|[;&|({])[ \t]*(source|\.)[ \t]+\S*` + regexp.QuoteMeta(base) + `\b`)
	for _, t := range tests {
		switch {
		case path.Base(t.Path) == "test.sh" && source.Match(t.Data):
			return undone
		case strings.Contains(string(t.Data), base):
			f = Kept
		}
	}
	return f
}
