package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"

	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

// components writes the components of an archive and of the wheel of its platform, as CycloneDX:
// the binaries with the modules that they were linked from, and the interpreters. Each build of
// the same commit gives the same list.
func (r *release) components(c contents, archive, wheel string) error {
	archived, err := digest(archive)
	if err != nil {
		return err
	}
	own := "pkg:golang/" + c.files[0].info.Main.Path + "@" + r.version
	bom := cdx.NewBOM()
	bom.SerialNumber = uuid.NewSHA1(uuid.NameSpaceURL, []byte(archived)).URN()
	bom.Metadata = &cdx.Metadata{
		Timestamp: r.source.time.Format(time.RFC3339),
		Tools:     &cdx.ToolsChoice{Components: &[]cdx.Component{r.wheelBuilder()}},
		Component: &cdx.Component{
			BOMRef: own, Type: cdx.ComponentTypeApplication, Name: "merit", Version: r.version, PackageURL: own,
			Licenses: expression("Apache-2.0"), Properties: &[]cdx.Property{{Name: "merit:commit", Value: r.source.commit}},
		},
	}
	root := cdx.Dependency{Ref: own, Dependencies: &[]string{}}
	list, graph := []cdx.Component{}, []cdx.Dependency{}
	part := func(part cdx.Component, of ...string) {
		*root.Dependencies = append(*root.Dependencies, part.BOMRef)
		list = append(list, part)
		graph = append(graph, cdx.Dependency{Ref: part.BOMRef, Dependencies: &of})
	}
	for _, b := range c.files {
		var of []string
		for _, dep := range b.info.Deps {
			of = append(of, golang(dep.Path, dep.Version))
		}
		part(cdx.Component{BOMRef: b.name, Type: cdx.ComponentTypeApplication, Name: b.name, Version: r.version, Hashes: sha256Hash(b.sha256), Licenses: expression("Apache-2.0")}, of...)
	}
	inside := []string{}
	for _, i := range shipped() {
		inside = append(inside, i.Name)
		described, err := r.interpreterComponent(i)
		if err != nil {
			return err
		}
		part(described)
	}
	sum, err := digest(wheel)
	if err != nil {
		return err
	}
	for _, b := range c.files {
		inside = append(inside, b.name)
	}
	part(r.wheelComponent(filepath.Base(wheel), sum), inside...)
	for _, m := range c.modules {
		purl := golang(m.path, m.version)
		list = append(list, cdx.Component{BOMRef: purl, Type: cdx.ComponentTypeLibrary, Name: m.path, Version: m.version, PackageURL: purl, Licenses: expression(spdx(m.texts)), Properties: goSum(m.sum)})
	}
	graph = append(graph, root)
	bom.Components, bom.Dependencies = &list, &graph
	var out bytes.Buffer
	if err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6); err != nil {
		return err
	}
	return write(strings.TrimSuffix(archive, ".tar.gz")+".cdx.json", out.Bytes())
}

// interpreterComponent describes the file of an interpreter: Merit's own build with its parts, or
// that of an npm package without debug sections, and CPython promoted (sandbox/internal/fuel).
func (r *release) interpreterComponent(i interpreter.Interpreter) (cdx.Component, error) {
	if i.Package == "" {
		return r.ownInterpreter(i)
	}
	name, version := i.Package[:strings.LastIndexByte(i.Package, '@')], i.Package[strings.LastIndexByte(i.Package, '@')+1:]
	return cdx.Component{
		BOMRef: i.Name, Type: cdx.ComponentTypeApplication, Name: i.Title, Version: version, Hashes: sha256Hash(i.Digest),
		PackageURL: "pkg:npm/" + strings.ReplaceAll(name, "@", "%40") + "@" + version,
		Licenses:   expression(strings.ReplaceAll(i.License, " and ", " AND ")),
		Properties: &[]cdx.Property{{Name: "merit:package-file", Value: i.File}, {Name: "merit:package-file-sha256", Value: i.Fetched}},
	}, nil
}

// sourcesOf names the interpreters that make interpreter builds, and the folders below sandbox that
// say what they are linked from.
var sourcesOf = map[string]struct{ name, folder string }{
	"python": {"cpython", "interpreter/build"}, "js": {"quickjs-ng", "interpreter/build/javascript"}, "userland": {"merit-userland", "userland"},
}

// ownInterpreter describes the interpreter that make interpreter builds, with what it is linked
// from.
func (r *release) ownInterpreter(i interpreter.Interpreter) (cdx.Component, error) {
	of := sourcesOf[i.Name]
	version := r.version // the userland's
	if i.Language != "" {
		version = i.Title[strings.LastIndexByte(i.Title, ' ')+1:]
	}
	c := cdx.Component{
		BOMRef: i.Name, Type: cdx.ComponentTypeApplication, Name: i.Title, Version: version, Hashes: sha256Hash(i.Digest),
		PackageURL: "pkg:generic/" + of.name + "@" + version, Licenses: expression(i.License), Components: &[]cdx.Component{},
	}
	text, err := os.ReadFile(filepath.Join(r.source.dir, "sandbox", of.folder, "components.json"))
	if err != nil {
		return c, err
	}
	var parts []struct {
		Name    string `json:"name"`
		Version string `json:"version"`
		License string `json:"license"`
		Text    string `json:"text"` // of the license: a file of the Python package
		What    string `json:"what"`
	}
	if err := strictjson.UnmarshalKnown(text, &parts); err != nil {
		return c, err
	}
	for _, p := range parts {
		*c.Components = append(*c.Components, cdx.Component{Type: cdx.ComponentTypeLibrary, Name: p.Name, Version: p.Version, Description: p.What, Licenses: expression(p.License)})
	}
	return c, nil
}

var wheelName = regexp.MustCompile(`^merit_rl-([^-]+)-`)

func (r *release) wheelComponent(file, sum string) cdx.Component {
	version := ""
	if m := wheelName.FindStringSubmatch(file); m != nil {
		version = m[1]
	}
	return cdx.Component{BOMRef: file, Type: cdx.ComponentTypeFile, Name: file, Version: version, Hashes: sha256Hash(sum), PackageURL: "pkg:pypi/merit-rl@" + version, Licenses: expression("Apache-2.0")}
}

var hatchling = regexp.MustCompile(`"hatchling==([^"]+)"`)

// wheelBuilder is the only component from PyPI: it packs the wheel and is not part of it.
func (r *release) wheelBuilder() cdx.Component {
	c := cdx.Component{Type: cdx.ComponentTypeApplication, Name: "hatchling"}
	text, _ := os.ReadFile(filepath.Join(r.source.dir, "sdk", "python", "pyproject.toml")) // it was read before, so it exists
	if m := hatchling.FindSubmatch(text); m != nil {
		c.Version = string(m[1])
		c.PackageURL = fmt.Sprintf("pkg:pypi/hatchling@%s", m[1])
	}
	return c
}

func golang(path, version string) string { return "pkg:golang/" + path + "@" + version }

func sha256Hash(sum string) *[]cdx.Hash {
	return &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: sum}}
}

// expression returns a license as CycloneDX, or nil if it is unknown.
func expression(spdx string) *cdx.Licenses {
	if spdx == "" {
		return nil
	}
	if strings.Contains(spdx, " ") {
		return &cdx.Licenses{{Expression: spdx}}
	}
	return &cdx.Licenses{{License: &cdx.License{ID: spdx}}}
}

// goSum returns the checksum of a module from go.sum.
func goSum(sum string) *[]cdx.Property {
	if sum == "" {
		return nil
	}
	return &[]cdx.Property{{Name: "go:sum", Value: sum}}
}
