package conformance_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox"
	"github.com/stretchr/testify/require"
)

// fixture is one line of testdata/examples: a trajectory or a group, and what
// the example says about each member.
type fixture struct {
	Name       string           `json:"name"`
	Trajectory *rl.Trajectory   `json:"trajectory,omitempty"`
	Group      []*rl.Trajectory `json:"group,omitempty"`
	Want       []verdict        `json:"want"`
}

type verdict struct {
	Outcome reward.Outcome    `json:"outcome"`
	Result  rl.EvaluateResult `json:"result"`
}

func examplePath(program string) string {
	return filepath.Join("testdata", "examples", program+".jsonl")
}

func lines(t testing.TB, path string) [][]byte {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var list [][]byte
	scan := bufio.NewScanner(bytes.NewReader(data))
	scan.Buffer(nil, 1<<24)
	for scan.Scan() {
		list = append(list, bytes.Clone(scan.Bytes()))
	}
	return list
}

func evaluate(m *sandbox.Module, f fixture) []verdict {
	members := f.Group
	if f.Trajectory != nil {
		members = []*rl.Trajectory{f.Trajectory}
	}
	var list []verdict
	for _, e := range m.EvaluateGroup(context.Background(), members) {
		list = append(list, verdict{e.Outcome, e.Result})
	}
	return list
}

// exampleAgrees compares an example with its golden file.
func exampleAgrees(t *testing.T, m *sandbox.Module, program string) {
	for _, line := range lines(t, examplePath(program)) {
		var f fixture
		require.NoError(t, json.Unmarshal(line, &f))
		got, err := json.Marshal(evaluate(m, f))
		require.NoError(t, err)
		want, err := json.Marshal(f.Want)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), "%s, %s: %s", m.Info().Name, program, f.Name)
	}
}

// Promise: the three examples say the same in every language, byte for byte.
func TestExamplesAgree(t *testing.T) {
	testneeds.NotShort(t)
	r := newRuntime(t)
	for _, program := range programs[:3] {
		golang := load(t, r, "go", buildGo(t, goPackages[program]))
		if *update {
			updateExample(t, golang, program)
		}
		exampleAgrees(t, golang, program)
		for _, c := range toolchains() {
			exampleAgrees(t, load(t, r, c.language, committedGuest(t, c.language, program)), program)
		}
	}
}

func updateExample(t *testing.T, m *sandbox.Module, program string) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	for _, line := range lines(t, examplePath(program)) {
		var f fixture
		require.NoError(t, json.Unmarshal(line, &f))
		f.Want = evaluate(m, f)
		require.NoError(t, enc.Encode(f))
	}
	require.NoError(t, os.WriteFile(examplePath(program), out.Bytes(), 0o644))
}

// Promise: every language scores the 1,320 real answers as the data set's own
// grader does.
func TestRealAnswers(t *testing.T) {
	testneeds.Slow(t, "scores 1,319 answers in every language")
	answers := lines(t, testneeds.Shared(t, "data", "gsm8k_model_solutions.jsonl"))
	require.Len(t, answers, 1320)
	r := newRuntime(t)
	modules := []*sandbox.Module{load(t, r, "go", buildGo(t, goPackages["answer"]))}
	for _, c := range toolchains() {
		modules = append(modules, load(t, r, c.language, committedGuest(t, c.language, "answer")))
	}
	for _, line := range answers {
		x := new(rl.Trajectory)
		require.NoError(t, json.Unmarshal(line, x))
		for _, m := range modules {
			e := m.Evaluate(context.Background(), x)
			require.Equal(t, reward.Scored, e.Outcome, "%s, %s: %s", m.Info().Name, x.ID, e.Reason)
			require.Equal(t, string(x.Metadata["is_correct"]) == "true", e.Result.Score == 1, "%s, %s", m.Info().Name, x.ID)
		}
	}
}
