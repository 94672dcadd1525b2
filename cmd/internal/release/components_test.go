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

// Promise: the list of components names everything that Merit's own interpreter is linked from,
// each with its license, and the packages that it includes in the pinned versions.
func TestPartsOfTheInterpreter(t *testing.T) {
	r := &release{source: source{dir: testneeds.Root()}}
	own := interpreter.Python().Builds()[0]
	c, err := r.interpreterComponent(own)
	require.NoError(t, err)
	require.Equal(t, "pkg:generic/cpython@3.13.5", c.PackageURL)
	require.Equal(t, own.Digest, (*c.Hashes)[0].Value)
	versions := map[string]string{}
	for _, part := range *c.Components {
		require.NotEmpty(t, part.Licenses, part.Name)
		versions[part.Name] = part.Version
	}
	for _, e := range own.Includes {
		require.Equal(t, e.Version, versions[e.Name], e.Name)
	}
}

// Promise: whoever gets an interpreter gets the license text of each of its parts.
func TestTextsOfTheParts(t *testing.T) {
	file, err := os.ReadFile(filepath.Join(testneeds.Root(), "sandbox", "interpreter", "build", "components.json"))
	require.NoError(t, err)
	var parts []struct{ Name, Text string }
	require.NoError(t, json.Unmarshal(file, &parts))
	require.NotEmpty(t, parts)
	notices, err := contents{}.notices(testneeds.Root())
	require.NoError(t, err)
	for _, p := range parts {
		require.NotEmpty(t, p.Text, p.Name)
		require.FileExists(t, filepath.Join(licenseTexts(testneeds.Root()), p.Text), p.Name)
		require.Contains(t, string(notices), "interpreters, "+p.Text)
	}
	require.NotContains(t, string(notices), "merit.txt")
}
