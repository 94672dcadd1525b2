package serving_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/merit-rl/merit/core/config"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/serve/serving"
	"github.com/stretchr/testify/require"
)

// Promise: the page for operators lists exactly the keys of a server's configuration with their
// defaults, and its example file is valid.
func TestDocsListEveryKey(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(testneeds.Root(), "docs/serving.md"))
	require.NoError(t, err)
	_, after, _ := strings.Cut(string(page), "| key | default | meaning |")
	table, _, _ := strings.Cut(after, "\n\n")
	listed := map[string]bool{}
	for row := range strings.Lines(table) {
		cells := strings.SplitN(row, "|", 4)
		if len(cells) < 4 {
			continue
		}
		for key := range strings.SplitSeq(cells[1], ",") {
			listed[strings.Trim(key, " `")] = true
		}
	}
	delete(listed, "---")
	known := map[string]bool{}
	for _, key := range config.Keys(serving.DefaultConfig()) {
		if strings.HasPrefix(key, "sandbox.") {
			key = "sandbox"
		}
		known[key] = true
	}
	require.Equal(t, known, listed)
	_, text, _ := strings.Cut(string(page), "```yaml\n# serve.yaml\n")
	text, _, _ = strings.Cut(text, "```")
	c, err := serving.Parse("serve.yaml", []byte(text), "")
	require.NoError(t, err)
	require.False(t, c.Local())
	require.Empty(t, c.Warnings())
}

// Promise: the configuration of the example server is as intended.
func TestExampleLoads(t *testing.T) {
	c, err := serving.Load(filepath.Join(testneeds.Root(), "examples", "serving", "serve.yaml"))
	require.NoError(t, err)
	require.Equal(t, "answer", c.DefaultReward)
	require.True(t, c.Local())
}

// Promise: editors can show every key with its meaning.
func TestSchema(t *testing.T) {
	text, err := serving.Schema()
	require.NoError(t, err)
	var schema struct {
		Properties map[string]struct {
			Type, Description string
			Default           any
		}
	}
	require.NoError(t, json.Unmarshal(text, &schema))
	for _, key := range config.Keys(serving.DefaultConfig()) {
		top, _, deep := strings.Cut(key, ".")
		require.NotEmpty(t, schema.Properties[top].Description, key)
		if !deep {
			require.NotEmpty(t, schema.Properties[top].Type, key)
		}
	}
	require.Equal(t, "127.0.0.1:8700", schema.Properties["listen"].Default)
}
