package testneeds

import (
	"cmp"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// PythonVariable is the environment variable that names the Python with the
// libraries of language models: that of an engine that Merit installed, say.
const PythonVariable = "MERIT_LLM_PYTHON"

// PythonWith returns a Python that can import modules: the one of PythonVariable,
// else python3.
func PythonWith(t testing.TB, modules ...string) string {
	t.Helper()
	return pythonOf(t, PythonVariable, modules)
}

// DataVariable is the environment variable that names the Python with the
// libraries of data: pyarrow, pandas and datasets.
const DataVariable = "MERIT_DATA_PYTHON"

// DataPython returns a Python with pyarrow, pandas and datasets, which write and
// read the files that people have: the one of DataVariable, else python3.
func DataPython(t testing.TB) string {
	t.Helper()
	return pythonOf(t, DataVariable, []string{"pyarrow", "pandas", "datasets"})
}

// OpenEnvVariable is the environment variable that names the Python with the
// package openenv and what its client and server import.
const OpenEnvVariable = "MERIT_OPENENV_PYTHON"

// OpenEnvPython returns a Python with the package openenv: the one of
// OpenEnvVariable, else python3.
func OpenEnvPython(t testing.TB) string {
	t.Helper()
	return pythonOf(t, OpenEnvVariable, []string{"openenv", "fastapi", "uvicorn", "websockets", "fastmcp", "requests"})
}

func pythonOf(t testing.TB, variable string, modules []string) string {
	t.Helper()
	Slow(t, "needs Python with "+cmp.Or(strings.Join(modules, " and "), "packages"))
	python := cmp.Or(os.Getenv(variable), "python3")
	// Finding a module is quick where importing it takes seconds.
	look := "import importlib.util as u, sys; sys.exit(any(not u.find_spec(m) for m in sys.argv[1:]))"
	if err := exec.Command(python, append([]string{"-c", look}, modules...)...).Run(); err != nil {
		Aside(t, python+" does not have "+strings.Join(modules, " and ")+"; set "+variable+" to a Python that does")
	}
	return python
}

// PluginVariable is the environment variable that names the Python with which
// plug-ins are run: it has grpcio, protobuf and what their environments need.
const PluginVariable = "MERIT_PLUGIN_PYTHON"

// PluginPython returns a Python that can import modules: the one of
// PluginVariable, else python3.
func PluginPython(t testing.TB, modules ...string) string {
	t.Helper()
	return pythonOf(t, PluginVariable, modules)
}

// AgentVariable is the environment variable that names the Python with agent libraries and
// their instrumentation: smolagents, OpenInference and OpenTelemetry, and anthropic.
const AgentVariable = "MERIT_AGENT_PYTHON"

// AgentPython returns a Python that runs agents written with these modules, or, without
// any, one that runs and instruments agents of smolagents: the one of AgentVariable, else
// python3.
func AgentPython(t testing.TB, modules ...string) string {
	t.Helper()
	if len(modules) == 0 {
		modules = []string{"smolagents", "openai", "openinference.instrumentation.smolagents", "opentelemetry.distro", "opentelemetry.exporter.otlp.proto.http"}
	}
	return pythonOf(t, AgentVariable, modules)
}

// MCPVariable is the environment variable that names the Python with the package mcp.
const MCPVariable = "MERIT_MCP_PYTHON"

// MCPPython returns a Python with the package mcp: the one of MCPVariable, else
// python3.
func MCPPython(t testing.TB) string {
	t.Helper()
	return pythonOf(t, MCPVariable, []string{"mcp", "uvicorn"})
}
