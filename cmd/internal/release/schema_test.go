package main

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
)

// cycloneDX compiles the schema of CycloneDX 1.6 that its Go library carries,
// with the two that it refers to, from files only.
func cycloneDX(t *testing.T) *jsonschema.Schema {
	t.Helper()
	dir, err := output(context.Background(), testneeds.Root(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go")
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	for file, url := range map[string]string{
		"bom-1.6.schema.json":   "http://cyclonedx.org/schema/bom-1.6.schema.json",
		"spdx.schema.json":      "http://cyclonedx.org/schema/spdx.schema.json",
		"jsf-0.82.schemax.json": "http://cyclonedx.org/schema/jsf-0.82.schema.json",
	} {
		loaded, err := jsonschema.FileLoader{}.Load("file://" + filepath.ToSlash(filepath.Join(dir, "schema", file)))
		require.NoError(t, err)
		require.NoError(t, c.AddResource(url, loaded))
	}
	schema, err := c.Compile("http://cyclonedx.org/schema/bom-1.6.schema.json")
	require.NoError(t, err)
	require.Error(t, schema.Validate(map[string]any{"bomFormat": "CycloneDX", "specVersion": "1.6", "components": []any{map[string]any{"name": "no type"}}}))
	return schema
}
