package audit_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/audit"
	"github.com/merit-rl/merit/internal/audit/envaudit"
)

// Promise: the checks of environments are exactly those of the local lane of OpenEnv's severity
// policy v2, with its levels and severities.
func TestPolicy(t *testing.T) {
	text, err := os.ReadFile("testdata/openenv-policy-v2.tsv")
	require.NoError(t, err)
	var own []string
	for _, c := range audit.Environments() {
		own = append(own, fmt.Sprintf("%s\t%d\t%s", c.ID, c.Level, c.Severity))
	}
	theirs := strings.Split(strings.TrimSpace(string(text)), "\n")
	slices.Sort(own)
	slices.Sort(theirs)
	require.Equal(t, theirs, own)
	for _, c := range append(audit.Environments(), audit.Rewards()...) {
		require.NotEmpty(t, c.Title, c.ID)
		require.NotEmpty(t, c.Remedy, c.ID)
	}
}

// accept returns what the peers' model finds wrong with a report.
func accept(t *testing.T, r *audit.Report) error {
	t.Helper()
	c := jsonschema.NewCompiler()
	s, err := c.Compile("testdata/openenv-report-1.schema.json")
	require.NoError(t, err)
	text, err := r.JSON()
	require.NoError(t, err)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	return s.Validate(doc)
}

// Promise: OpenEnv's models of a report accept Merit's, with every status, with and without
// declarations, of an environment, a package and a Harbor task.
func TestReportIsThePeers(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(folder+"/openenv.yaml", []byte(`
name: adder
version: 1
validation:
  reward: {floor_margin: 0.2, range: [-1, 2]}
  resources: {cpu: 1, memory_mb: 512, disk_mb: 64, episode_timeout_s: 60}
  task_distribution: {dataset_version: "1"}
  network: {mode: allowlist, allowed_hosts: [example.com]}
  capabilities: {verifier: {kind: reward_channel}, declared_tools: [add], declared_task_count: {train: 3}}
  types: {tags: [math]}
`), 0o600))
	package_, results, err := envaudit.Run(t.Context(), envaudit.Subject{Folder: folder})
	require.NoError(t, err)
	require.NotNil(t, package_, "%+v", results)
	harbor := envaudit.Describe("task", "")
	entry := "tests/test.sh"
	harbor.Signature, harbor.Capabilities.Verifier = audit.Harbor, &audit.Verifier{Kind: "script", Entry: &entry}
	harbor.Capabilities.Oracle = &audit.Oracle{Form: "script", Location: "solution/solve.sh"}
	some := []audit.Result{
		audit.Passing("runtime.startup", map[string]any{"seconds": 0.5}), audit.Failing("static.sbom", nil, "no file"), audit.Skipping("semantic.oracle_max", "no oracle"),
		{ID: "runtime.seed_control", Status: audit.Oops, Seconds: 1},
	}
	for _, r := range []*audit.Report{
		audit.New("adder", "sha256:0", audit.OpenEnv, package_, results),
		audit.New("sokoban", "sha256:0", audit.OpenEnv, envaudit.Describe("sokoban", "1.0.0"), some),
		audit.New("broken", "", audit.OpenEnv, nil, some),
		audit.New("task", "sha256:0", audit.Harbor, harbor, some),
	} {
		require.NoError(t, accept(t, r), r.Target)
	}
	wrong := audit.New("sokoban", "", "setup.py", nil, []audit.Result{{ID: "Startup", Status: "good", Seconds: -1}})
	err = accept(t, wrong)
	for _, what := range []string{"/signature", "/results/0/check_id", "/results/0/status", "/results/0/duration_s"} {
		require.ErrorContains(t, err, what)
	}
}
