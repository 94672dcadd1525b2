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
	python := cmp.Or(os.Getenv(PythonVariable), "python3")
	// Finding a module is quick where importing it takes seconds.
	look := "import importlib.util as u, sys; sys.exit(any(not u.find_spec(m) for m in sys.argv[1:]))"
	if err := exec.Command(python, append([]string{"-c", look}, modules...)...).Run(); err != nil {
		Aside(t, python+" does not have "+strings.Join(modules, " and ")+"; set "+PythonVariable+" to a Python that does")
	}
	return python
}
