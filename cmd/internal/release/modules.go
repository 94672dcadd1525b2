package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
)

// module is a module that a binary was linked from.
type module struct {
	path, version, sum string
	texts              []notice
}

// notice is a file in which a module states its license or its authors.
type notice struct {
	name string
	text []byte
}

// standard is the name of the standard library as a module.
const standard = "std"

// listModules reads the licenses of all modules of the source, and of Go's standard library.
func (r *release) listModules(ctx context.Context) (map[string]module, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Path}}\t{{.Dir}}", "all")
	cmd.Dir, cmd.Env = r.source.dir, r.source.environ()
	list, err := run(cmd)
	if err != nil {
		return nil, err
	}
	root, err := output(ctx, r.source.dir, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	modules := map[string]module{}
	for line := range strings.Lines(list + "\n" + standard + "\t" + root) {
		path, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
		m := module{path: path}
		if m.texts, err = notices(dir); err != nil {
			return nil, err
		}
		modules[path] = m
	}
	return modules, nil
}

var noticeName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// notices reads the files of a module's folder that state its license. A module from which nothing
// is built has no folder.
func notices(dir string) (texts []notice, err error) {
	if dir == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if !noticeName.MatchString(e.Name()) || e.Type()&fs.ModeType != 0 {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		texts = append(texts, notice{e.Name(), text})
	}
	return texts, err
}

// contents lists the binaries of one platform and the modules that they were linked from.
type contents struct {
	files   []binary // in the order of their names
	modules []module // of all files, in the order of their paths
}

// binary is an executable file and the modules in it.
type binary struct {
	name, sha256 string
	info         *debug.BuildInfo
}

// contents reads the build information of the binaries below a folder.
func (r *release) contents(folder string) (c contents, err error) {
	path := filepath.Join(folder, "bin", "merit")
	linked := map[string]module{}
	b := binary{name: "bin/merit"}
	if b.sha256, err = digest(path); err != nil {
		return c, err
	}
	if b.info, err = buildinfo.ReadFile(path); err != nil {
		return c, err
	}
	if b.info.Main.Version != r.version {
		return c, fmt.Errorf("%s is %s, not %s", b.name, b.info.Main.Version, r.version)
	}
	b.info.Deps = append(b.info.Deps, &debug.Module{Path: standard, Version: strings.TrimPrefix(b.info.GoVersion, "go")})
	for _, dep := range b.info.Deps {
		linked[dep.Path] = module{path: dep.Path, version: dep.Version, sum: dep.Sum, texts: r.modules[dep.Path].texts}
	}
	c.files = append(c.files, b)
	for _, path := range slices.Sorted(maps.Keys(linked)) {
		c.modules = append(c.modules, linked[path])
	}
	return c, err
}

// notices returns the texts that the licenses of the linked modules require to be passed on, and
// those of the interpreters with their parts, which are files of the Python package.
func (c contents) notices(src string) ([]byte, error) {
	var out bytes.Buffer
	add := func(title, name string, text []byte) {
		fmt.Fprintf(&out, "%s\n%s, %s\n\n%s\n\n", strings.Repeat("=", 80), title, name, bytes.TrimSpace(text))
	}
	for _, m := range c.modules {
		for _, n := range m.texts {
			add(m.path+" "+m.version, n.name, n.text)
		}
	}
	texts, err := filepath.Glob(filepath.Join(licenseTexts(src), "*.txt"))
	for _, path := range texts {
		text, read := os.ReadFile(path)
		err = errors.Join(err, read)
		if name := filepath.Base(path); name != "merit.txt" {
			add("interpreters", name, text)
		}
	}
	return out.Bytes(), err
}

// licenseTexts returns the folder with the license texts that the Python package contains.
func licenseTexts(src string) string { return filepath.Join(src, "sdk", "python", "licenses") }
