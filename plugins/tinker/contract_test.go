package tinker_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/contracts/policytest"
	"github.com/merit-rl/merit/internal/host"
)

// fake starts the service of the tests in Python and returns its URL and the
// folder of its tokenizer.
func fake(t *testing.T, python string) (url, tokenizer string) {
	t.Helper()
	tokenizer = t.TempDir()
	script := `import sys, samples, fake
samples.tokenizer().save_pretrained(sys.argv[1])
print(fake.Fake(slots=8).url, flush=True)
sys.stdin.read()`
	cmd := exec.Command(python, "-c", script, tokenizer)
	cmd.Env = append(append(os.Environ(), "PYTHONPATH="+sources("tests")), bytecode()...)
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = stdin.Close(); _ = cmd.Wait() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(line), tokenizer
}

// Promise: the plug-in keeps the contracts of policy.Policy and policy.Learner,
// through its process and the wire.
func TestContract(t *testing.T) {
	testneeds.Slow(t, "trains a language model")
	python := testneeds.PythonWith(t, modules...)
	url, tokenizer := fake(t, python)
	options, err := json.Marshal(map[string]any{"url": url, "tokenizer": tokenizer, "max_tokens": 4, "prefill": "Move:", "learning_rate": 5, "batch": 8})
	require.NoError(t, err)
	policytest.RunLearner(t, policytest.LearnerSubject{
		Named: true,
		Open: func(t testing.TB) policy.Learner {
			cfg := host.DefaultPolicyConfig()
			cfg.Path, cfg.Args = python, []string{"-m", "merit_tinker"}
			cfg.Env = append([]string{"PYTHONPATH=" + sources(), "HF_HUB_OFFLINE=1"}, bytecode()...)
			cfg.Options, cfg.Seed, cfg.Learn = options, 7, true
			l, err := host.OpenPolicy(t.Context(), cfg)
			require.NoError(t, err)
			return l
		},
		Observe: func(i int) policy.Observation {
			text := fmt.Sprintf("At %*d.", 1+20*(i%3), i) // of three lengths
			return policy.Observation{
				Messages: []rl.Message{{Role: rl.RoleSystem, Content: rl.Text("Go.")}, {Role: rl.RoleUser, Content: rl.Text(text)}},
				Text:     text,
			}
		},
	})
}
