package python_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/stretchr/testify/require"
)

// Promise: what the tests of merit_plugin promise, over the wire.
func TestPlugin(t *testing.T) {
	python := testneeds.PluginPython(t, "grpc", "google.protobuf", "numpy", "gymnasium")
	cmd := exec.Command(python, "-B", "-m", "unittest", "discover", "-s", "plugin_tests")
	cmd.Env = append(os.Environ(), "PYTHONPATH=."+string(os.PathListSeparator)+"plugin_tests")
	text, err := cmd.CombinedOutput()
	require.NoError(t, err, string(text))
}

// Promise: the committed Python code is what the .proto files say.
func TestPluginGenerated(t *testing.T) {
	testneeds.Command(t, "install protobuf-compiler of Debian 12", "sh", "-c", "protoc --version | grep -F 3.21.")
	source, err := os.ReadFile("embed.go")
	require.NoError(t, err)
	line := regexp.MustCompile(`//go:generate sh -c "(.*)"`).FindSubmatch(source)
	require.NotNil(t, line)
	dir := t.TempDir()
	script := strings.NewReplacer("$DOLLAR", "$", ">merit_plugin/_proto", ">"+dir).Replace(string(line[1]))
	out, err := exec.Command("sh", "-c", script).CombinedOutput()
	require.NoError(t, err, string(out))
	for _, name := range []string{"environment_pb2.py", "fault_pb2.py", "policy_pb2.py"} {
		committed, err := os.ReadFile(filepath.Join("merit_plugin", "_proto", name))
		require.NoError(t, err)
		fresh, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, string(fresh), string(committed), name)
	}
}
