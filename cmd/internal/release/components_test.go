package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

// Promise: the list of components names everything that Merit's own interpreters are linked from,
// each with its license, and the packages that they include in the pinned versions.
func TestPartsOfTheInterpreters(t *testing.T) {
	r := &release{source: source{dir: testneeds.Root()}}
	for purl, i := range map[string]interpreter.Interpreter{
		"pkg:generic/cpython@3.13.5": interpreter.Python(), "pkg:generic/quickjs-ng@0.17.0": interpreter.JavaScript(),
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

// Promise: anyone who gets an interpreter gets the license text of each of its parts.
func TestTextsOfTheParts(t *testing.T) {
	var parts []struct{ Name, Text string }
	for _, folder := range []string{"build", "build/javascript"} {
		file, err := os.ReadFile(filepath.Join(testneeds.Root(), "sandbox", "interpreter", folder, "components.json"))
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
