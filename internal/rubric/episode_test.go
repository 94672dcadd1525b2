package rubric_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/rubric"
	"github.com/stretchr/testify/require"
)

// FuzzReadEpisode checks that any input from an environment results in an error or in an
// episode that can be judged.
func FuzzReadEpisode(f *testing.F) {
	rule := `{"name":"a","criteria":[{"name":"a","weight":1,"rule":{"language":"python","code":"x"}}]}`
	work := `{"task":"t","outputs":[{"worker":"w","resources":[{"name":"n","kind":"code","text":"x"}]}]}`
	f.Add([]byte(`{"rubric":`+rule+`,"outputs":2}`), []byte(`{"rubric":`+rule+`,"questions":["q"]}`), []byte(work))
	f.Add([]byte(`{"rubric":`+rule+`,"outputs":-2}`), []byte(`{"rubric":null,"problem":"p"}`), []byte(work))
	f.Add([]byte(`{"rubric":{}}`), []byte(`{"rubric":{"criteria":[{}]}}`), []byte(`{"outputs":[{}]}`))
	f.Add([]byte(`3`), []byte(`[]`), []byte(`null`))
	f.Fuzz(func(t *testing.T, truth, written, workflow []byte) {
		e, err := rubric.ReadEpisode(&rl.Trajectory{
			GroundTruth: truth, Steps: []rl.Step{{Info: map[string]json.RawMessage{rubric.InfoWritten: written, rubric.InfoWorkflow: workflow}}},
		})
		if err != nil {
			require.Nil(t, e)
			return
		}
		require.Empty(t, e.Truth.Validate())
		require.NotEmpty(t, e.Workflow.Outputs)
		require.Len(t, e.Workflow.Outputs, e.Outputs)
		if e.Written.Rubric != nil {
			require.Empty(t, e.Written.Rubric.Validate())
		}
	})
}

// Promise: the error for a file that is not a workflow says what is wrong and how to write
// one.
func TestReadWorkflow(t *testing.T) {
	for text, want := range map[string]string{
		`{"task":"t","outputs":[{"worker":"w","resources":[]}]}`:    "",
		`{"task":"t","outputs":[]}`:                                 "has no outputs",
		`{"task":"t","outputs":[{"worker":"w","resource":[]}]}`:     "is not a field",
		`{"task":"t","outputs":[{"worker":"w","resources":[]}]} {}`: "after top-level value",
		`[]`: "not a workflow",
		``:   "not a workflow",
	} {
		path := filepath.Join(t.TempDir(), "workflow.json")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := rubric.ReadWorkflow(path)
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, fault.Of(fault.Data, fault.Invalid))
		require.ErrorContains(t, err, want)
		require.Contains(t, fault.As(err).Hint, `"outputs"`)
	}
	_, err := rubric.ReadWorkflow(filepath.Join(t.TempDir(), "none.json"))
	require.ErrorIs(t, err, fault.Of(fault.Data, fault.Missing))
	require.Equal(t, "correct the path", fault.As(err).Hint)
}
