package monitorbench

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/monitor"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/base/testneeds"
)

// reported reads the report that the page was written from.
func reported(t *testing.T) *Report {
	text, err := os.ReadFile(filepath.Join("testdata", "report.json"))
	require.NoError(t, err)
	r := new(Report)
	require.NoError(t, strictjson.UnmarshalKnown(text, r))
	return r
}

// Promise: the tables of docs/operations.md and the picture are those of the report, to the byte.
func TestPage(t *testing.T) {
	r := reported(t)
	docs := filepath.Join("..", "..", "docs")
	page, err := os.ReadFile(filepath.Join(docs, "operations.md"))
	require.NoError(t, err)
	require.Contains(t, string(page), begin+r.Markdown()+end)
	picture, err := os.ReadFile(filepath.Join(docs, "red-flags.svg"))
	require.NoError(t, err)
	require.Equal(t, string(picture), r.Picture())

	copied := filepath.Join(t.TempDir(), "page.md")
	require.NoError(t, os.WriteFile(copied, []byte("before\n"+begin+"old\n"+end+"after\n"), 0o600))
	require.NoError(t, UpdatePage(copied, "new\n"))
	text, err := os.ReadFile(copied)
	require.NoError(t, err)
	require.Equal(t, "before\n"+begin+"new\n"+end+"after\n", string(text))
	require.ErrorContains(t, UpdatePage(filepath.Join("..", "..", "docs", "glossary.md"), ""), "no place for the tables")
}

// Promise: runs are the same bytes on any number of cores, and repeat what the report says of them. Their
// recordings are used again.
func TestRunsRepeat(t *testing.T) {
	testneeds.NotShort(t)
	some := slices.DeleteFunc(Families(), func(f Family) bool {
		return !slices.Contains([]string{"injection", "skipped tests", "labels"}, f.Name)
	})
	require.Len(t, some, 3)
	said := map[string]Outcome{}
	for _, o := range reported(t).Outcomes {
		if o.Seed == 0 {
			said[o.Family] = o
		}
	}
	dirs := []string{t.TempDir(), t.TempDir()}
	for i, cores := range []int{1, 3} {
		runs, err := Plan{Families: some, Seeds: 1, Cores: cores, Dir: dirs[i]}.Play(t.Context(), func(int, int) {})
		require.NoError(t, err)
		for k := range runs {
			require.Equal(t, said[runs[k].Family.Name], outcome(&runs[k]))
		}
	}
	for _, f := range some {
		one, err := os.ReadFile(path(dirs[0], f.Name, 0))
		require.NoError(t, err)
		other, err := os.ReadFile(path(dirs[1], f.Name, 0))
		require.NoError(t, err)
		require.Equal(t, one, other, f.Name)
		r, err := Read(dirs[0], f.Name, 0)
		require.NoError(t, err)
		require.NotNil(t, r)
		for _, it := range r.Lines {
			require.Empty(t, it.Alarms)
			if it.Outputs != nil {
				require.Empty(t, it.Outputs.Metrics, "the true metric is hidden")
			}
		}
	}
	none, err := Read(dirs[0], some[0].Name, 7)
	require.NoError(t, err)
	require.Nil(t, none)
	require.NoError(t, os.WriteFile(path(dirs[0], some[0].Name, 7), []byte("{"), 0o600))
	_, err = Read(dirs[0], some[0].Name, 7)
	require.ErrorContains(t, err, "is not a recording")
}

// Promise: there are at least ten hackable and ten healthy families, and every second one by name is
// held out.
func TestFamilies(t *testing.T) {
	count, names := map[bool]int{}, map[string]bool{}
	for i, f := range Families() {
		require.False(t, names[f.Name])
		names[f.Name] = true
		require.Equal(t, count[f.Hackable]%2 == 1, f.HeldOut, f.Name)
		count[f.Hackable]++
		if i > 0 && Families()[i-1].Hackable == f.Hackable {
			require.Less(t, Families()[i-1].Name, f.Name)
		}
	}
	require.GreaterOrEqual(t, count[true], 10)
	require.GreaterOrEqual(t, count[false], 10)
}

// Promise: every red flag has evidence, by the name and the threshold that the monitor has.
func TestFlags(t *testing.T) {
	c := monitor.Default()
	for _, f := range Flags() {
		c.Off = append(c.Off, f.Name)
		require.NotZero(t, f.At(c.Thresholds), f.Name)
	}
	require.Empty(t, c.Validate())
	lines := []run.Iteration{{}}
	for i := 1; i <= 40; i++ {
		lines = append(lines, run.Iteration{
			Iteration: i, Outcomes: map[string]int{"scored": 8}, Rollout: &run.Rollout{Episodes: 8}, Advantage: &run.Advantage{}, Update: &run.Update{KL: 0.05},
			Outputs: &run.Outputs{Groups: 2, Score: float64(i % 2)},
		})
	}
	evidence := Evidence(lines)
	require.Len(t, evidence, len(Flags()))
	kl := slices.IndexFunc(Flags(), func(f Flag) bool { return f.Name == "kl" })
	require.Equal(t, slices.Repeat([]float64{0.05}, 40), evidence[kl], "below the threshold, too")
	require.Greater(t, evidence[slices.IndexFunc(Flags(), func(f Flag) bool { return f.Name == "oscillation" })][39], 8.0)
}

// Promise: a fall is one of 30 % and 0.1, for good, and dated by the last of five validations.
func TestFall(t *testing.T) {
	flat := slices.Repeat([]float64{0.8}, 20)
	require.Zero(t, Fall(flat))
	require.Zero(t, Fall(slices.Concat(flat, slices.Repeat([]float64{0.6}, 10))))
	require.Equal(t, 2*22, Fall(slices.Concat(flat, slices.Repeat([]float64{0.4}, 10))), "three of five validations are low")
	require.Zero(t, Fall(slices.Concat(flat, slices.Repeat([]float64{0.4}, 10), flat)))
	require.Zero(t, Fall(slices.Concat(slices.Repeat([]float64{0.1}, 10), slices.Repeat([]float64{0.02}, 10))), "too small to tell")
}
