package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

// Promise: the list of components names everything that Merit's own interpreters are linked from,
// each with its license, and the packages that they include in the pinned versions.
func TestPartsOfTheInterpreters(t *testing.T) {
	r := &release{source: source{dir: testneeds.Root()}, version: "v0.1.0"}
	for purl, i := range map[string]interpreter.Interpreter{
		"pkg:generic/cpython@3.13.5": interpreter.Python(), "pkg:generic/quickjs-ng@0.17.0": interpreter.JavaScript(),
		"pkg:generic/merit-userland@v0.1.0": interpreter.Python().Userland(),
	} {
		own := i.Builds()[0]
		c, err := r.interpreterComponent(own)
		require.NoError(t, err)
		require.Equal(t, purl, c.PackageURL)
		require.Equal(t, own.Digest, (*c.Hashes)[0].Value)
		versions := map[string]string{}
		for _, part := range *c.Components {
			require.NotEmpty(t, part.Licenses, part.Name)
			versions[part.Name] = part.Version
		}
		require.NotEmpty(t, versions)
		for _, e := range own.Includes {
			require.Equal(t, e.Version, versions[e.Name], e.Name)
		}
	}
}

// Promise: the list of the userland's components, and what merit version says of it, name every
// module that it is linked from and every package of Python that it carries, in the versions that
// its build takes.
func TestPartsOfTheUserland(t *testing.T) {
	folder := filepath.Join(testneeds.Root(), "sandbox", "userland")
	read := func(name string) string { return string(readAll(t, filepath.Join(folder, name))) }
	listed, packages := map[string]string{}, map[string]string{}
	var parts []struct{ Name, Version string }
	require.NoError(t, json.Unmarshal([]byte(read("components.json")), &parts))
	for _, p := range parts {
		listed[p.Name] = p.Version
	}
	for _, e := range interpreter.Python().Userland().Includes {
		packages[e.Name] = e.Version
	}
	built := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^(\S+)==(\S+) --hash`).FindAllStringSubmatch(read("packages.txt")+read("plain.txt"), -1) {
		built[m[1]] = m[2]
	}
	require.Equal(t, built, packages)
	list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if .Version}}{{.Path}} {{.Version}}{{end}}{{end}}", ".")
	list.Dir, list.Env = folder, append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=-mod=readonly", "GOWORK=off")
	modules, err := run(list)
	require.NoError(t, err)
	for line := range strings.Lines(modules) {
		path, version, _ := strings.Cut(strings.TrimSpace(line), " ")
		built[path] = version
	}
	built["Go"] = regexp.MustCompile(`(?m)^toolchain go(.*)$`).FindStringSubmatch(read("go.mod"))[1]
	require.Equal(t, built, listed)
}

// Promise: anyone who gets an interpreter gets the license text of each of its parts.
func TestTextsOfTheParts(t *testing.T) {
	var parts []struct{ Name, Text string }
	for _, of := range sourcesOf {
		file, err := os.ReadFile(filepath.Join(testneeds.Root(), "sandbox", of.folder, "components.json"))
		require.NoError(t, err)
		var some []struct{ Name, Text string }
		require.NoError(t, json.Unmarshal(file, &some))
		require.NotEmpty(t, some)
		parts = append(parts, some...)
	}
	notices, err := contents{}.notices(testneeds.Root())
	require.NoError(t, err)
	for _, p := range parts {
		require.NotEmpty(t, p.Text, p.Name)
		require.FileExists(t, filepath.Join(licenseTexts(testneeds.Root()), p.Text), p.Name)
		require.Contains(t, string(notices), "interpreters, "+p.Text)
	}
	require.NotContains(t, string(notices), "merit.txt")
}
