package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/attack/corpus"
)

func write(t *testing.T, text string) *bench {
	b := &bench{half: "all", kind: "all", budget: time.Minute, out: filepath.Join(t.TempDir(), "results.jsonl")}
	require.NoError(t, os.WriteFile(b.out, []byte(text), 0o600))
	return b
}

// Promise: a run that was killed in the middle of a line continues with the results before it, and results
// of another budget or seed are never mixed in.
func TestContinues(t *testing.T) {
	const whole = `{"name":"a","budget_seconds":60,"seed":0,"findings":null,"rounds":1,"evaluations":2,"cpu_seconds":3,"stopped":""}` + "\n"
	results, err := write(t, whole+whole[:40]).read()
	require.NoError(t, err)
	require.Len(t, results, 1)
	require.Equal(t, 2, results["a"].Evaluations)

	_, err = write(t, strings.Replace(whole, "60", "600", 1)).read()
	require.ErrorContains(t, err, "another budget")
	b := &bench{out: filepath.Join(t.TempDir(), "none")}
	results, err = b.read()
	require.NoError(t, err)
	require.Empty(t, results)
}

var entries = []corpus.Entry{
	{Name: "open", Kind: corpus.Hackable}, {Name: "shut", Kind: corpus.Sound}, {Name: "hidden", Kind: corpus.Hackable, HeldOut: true},
	{Name: "broken", Kind: corpus.Sound}, {Name: "waiting", Kind: corpus.Sound},
}

// Promise: the flags choose halves, kinds and names.
func TestChosen(t *testing.T) {
	for flags, want := range map[[3]string][]string{
		{"all", "all", ""}:           {"open", "shut", "hidden", "broken", "waiting"},
		{"seen", "hackable", ""}:     {"open"},
		{"heldout", "all", ""}:       {"hidden"},
		{"all", "all", "shut,open"}:  {"open", "shut"},
		{"heldout", "sound", "shut"}: nil,
	} {
		b := &bench{half: flags[0], kind: flags[1], only: flags[2]}
		var got []string
		for _, e := range b.chosen(append([]corpus.Entry{}, entries...)) {
			got = append(got, e.Name)
		}
		require.Equal(t, want, got, flags)
	}
}

// Promise: the table counts what was found of what was attacked, apart for each half, and leaves out what
// failed or was not attacked.
func TestTable(t *testing.T) {
	results := map[string]result{
		"open":   {Name: "open", Findings: []found{{Kind: "a | b"}}, Evaluations: 100, Seconds: 2.25},
		"shut":   {Name: "shut", Evaluations: 900, Seconds: 60},
		"hidden": {Name: "hidden", Evaluations: 800, Seconds: 60},
		"broken": {Name: "broken", Error: "no module"},
	}
	var out strings.Builder
	require.NoError(t, table(&out, entries, results))
	require.Equal(t, `| rewards | attacked | found | median CPU seconds to the first finding | longest |
|---|---:|---:|---:|---:|
| hackable, seen | 1 | 1 | 2.2 | 2.2 |
| hackable, held out | 1 | 0 |  |  |
| sound, seen | 1 | 0 |  |  |

| reward | kind | half | found | by | evaluations | CPU seconds |
|---|---|---|---|---|---:|---:|
| open | hackable | seen | yes | a \| b | 100 | 2.2 |
| shut | sound | seen | no |  | 900 | 60.0 |
| hidden | hackable | held out | no |  | 800 | 60.0 |
| broken | sound | seen | failed | no module | 0 | 0.0 |
`, out.String())
}
