package sweeppage_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/sweep"
	"github.com/merit-rl/merit/internal/sweep/sweeppage"
)

func estimate(mean float64) sweep.Estimate {
	return sweep.Estimate{Mean: mean, Low: mean - 0.01, High: mean + 0.02}
}

// study has two settings on a task, one of them better, and a task without runs.
func study() *sweep.Results {
	row := func(setting, title string, mean float64) sweep.Row {
		r := sweep.Row{Setting: setting, Title: title, Mean: estimate(mean), At: []sweep.Estimate{estimate(mean), estimate(mean + 0.1)}, Test: estimate(mean)}
		for i := range 9 {
			r.Curve = append(r.Curve, sweep.Band{Steps: 250 * float64(i), Estimate: estimate(mean * float64(i) / 8)})
		}
		return r
	}
	first, second := row("a", "A", 0.5), row("b", "B <&>", 0.6)
	second.Difference = &sweep.Difference{Mean: sweep.Estimate{Mean: 0.1, Low: 0.08, High: 0.12}, Last: estimate(0.1), Won: 4, P: 0.125, Adjusted: 0.25}
	return &sweep.Results{
		Title: "T <&>", Planned: 9, Missing: []string{"runs/x"},
		Choices: []string{"low", "high"}, Tuned: []sweep.Tuned{{Task: "t", Setting: "a", Choice: "high", Means: []sweep.Estimate{estimate(0.2), estimate(0.5)}}},
		Tasks: []sweep.TaskResults{{Name: "t"}, {Name: "later"}},
		Panels: []sweep.PanelResult{{Name: "p", Title: "P", Measure: sweep.Success, Tasks: []sweep.Beside{
			{Task: "t", Title: "Task <&>", Budgets: []int{1000, 2_000_000}, Against: "a", Seeds: []int{1, 2, 3, 4}, Rows: []sweep.Row{first, second}},
		}}},
	}
}

// Promise: a template gets every number with its interval, a difference with its
// sign, a dash for what is not trained yet, and the tables and pictures.
func TestTemplate(t *testing.T) {
	dir := t.TempDir()
	source, out := filepath.Join(dir, "x.tmpl"), filepath.Join(dir, "x.md")
	require.NoError(t, os.WriteFile(source, []byte(`{{.Planned}} {{mean "p" "t" "a"}} {{last "p" "t" "b"}} {{against "p" "t" "b"}} {{standing "p" "t" "b"}} {{standing "p" "later" "b"}} {{seeds "p" "t"}} {{steps 2000000}}
{{curves "p" "t"}}{{areas "p" "t"}}{{curves "p" "later"}}
{{table "p" "t"}}
{{table "p" "later"}}
{{adjusted "p" "t" "b"}} {{choices}}
`), 0o600))
	require.NoError(t, sweeppage.Write(out, source, study()))
	text, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Equal(t, `9 50.0 % [49.0, 52.0] 70.0 % [69.0, 72.0] +10.0 [+8.0, +12.0] ahead – 4 2 M
![Task <&>: success, 4 seeds](x/curves-p-t.svg)![Task <&>: success, 4 seeds](x/areas-p-t.svg)
| setting | seeds | mean of the curve | at 1 k | at 2 M | mean against A | seeds ahead | p | p (Holm) | test, best checkpoint |
|---|---|---|---|---|---|---|---|---|---|
| A | 4 | 50.0 % [49.0, 52.0] | 50.0 % [49.0, 52.0] | 60.0 % [59.0, 62.0] |  |  |  |  | 50.0 % [49.0, 52.0] |
| B <&> | 4 | 60.0 % [59.0, 62.0] | 60.0 % [59.0, 62.0] | 70.0 % [69.0, 72.0] | +10.0 [+8.0, +12.0] | 4 of 4 | 0.12 | 0.25 | 60.0 % [59.0, 62.0] |
No runs yet.
0.25 | task | setting | chosen | low | high |
|---|---|---|---|---|
| t | a | high | 20.0 % | 50.0 % |
`, string(text))
	for _, name := range []string{"curves-p-t.svg", "areas-p-t.svg"} {
		data, err := os.ReadFile(filepath.Join(dir, "x", name))
		require.NoError(t, err)
		wellFormed(t, data)
		require.Less(t, len(data), 20_000)
	}
	for _, wrong := range []string{`{{mean "p" "t2" "a"}}`, `{{table "q" "t"}}`, `{{.Nothing}}`, `{{`} {
		require.NoError(t, os.WriteFile(source, []byte(wrong), 0o600))
		require.ErrorIs(t, sweeppage.Write(out, source, study()), fault.Of(fault.Config, fault.Invalid), wrong)
	}
	require.ErrorIs(t, sweeppage.Write(out, source+"x", study()), fault.Of(fault.Config, fault.Missing))
}

// Promise: without a template the page has every panel, before the first run too.
func TestStandardPage(t *testing.T) {
	out := filepath.Join(t.TempDir(), "x.md")
	require.NoError(t, sweeppage.Write(out, "", study()))
	text, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Contains(t, string(text), "1 of 9 runs are not finished")
	require.Contains(t, string(text), "(x/curves-p-t.svg)")
	require.NoError(t, sweeppage.Write(out, "", &sweep.Results{Panels: []sweep.PanelResult{{Name: "p"}}}))
}

// Promise: the page of HTML has every table and picture and escapes names.
func TestHTML(t *testing.T) {
	html, err := sweeppage.HTML(study())
	require.NoError(t, err)
	require.Equal(t, 2, bytes.Count(html, []byte("<svg ")))
	require.NotContains(t, string(html), ">-0")
	require.Contains(t, string(html), "<td>&#43;10.0 [&#43;8.0, &#43;12.0]</td>")
	require.Contains(t, string(html), "8 of 9 runs")
	require.NotContains(t, string(html), "<&>")
}

// Promise: a title cannot break a table, and no picture replaces
// another of the same name.
func TestNamesThatMeet(t *testing.T) {
	dir := t.TempDir()
	source, out := filepath.Join(dir, "x.tmpl"), filepath.Join(dir, "x.md")
	r := study()
	r.Panels[0].Tasks[0].Rows[0].Title = "|ω| = 0"
	require.NoError(t, os.WriteFile(source, []byte(`{{table "p" "t"}}`), 0o600))
	require.NoError(t, sweeppage.Write(out, source, r))
	text, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Contains(t, string(text), `| \|ω\| = 0 | 4 |`)

	r.Panels[0].Name = "first"
	for i, names := range [][2]string{{"p-a", "t"}, {"p", "a-t"}} {
		r.Panels = append(r.Panels, r.Panels[0])
		r.Tasks = append(r.Tasks, sweep.TaskResults{Name: names[1]})
		p := &r.Panels[1+i]
		p.Name, p.Tasks = names[0], []sweep.Beside{p.Tasks[0]}
		p.Tasks[0].Task, p.Tasks[0].Title = names[1], names[1]
	}
	require.NoError(t, os.WriteFile(source, []byte(`{{curves "p-a" "t"}}{{curves "p-a" "t"}}{{curves "p" "a-t"}}`), 0o600))
	require.ErrorContains(t, sweeppage.Write(out, source, r), "two pictures would be named curves-p-a-t.svg")
}

// Promise: pictures of any values are well-formed: equal ones, none, below 0, and
// such that no round numbers lie between them.
func TestOddPictures(t *testing.T) {
	for _, rows := range [][]sweep.Row{nil, {{Title: "flat", Curve: []sweep.Band{{Steps: 0}, {Steps: 5}}}}, {{Title: "below", Mean: estimate(-3), Curve: []sweep.Band{{Steps: 9, Estimate: estimate(-3)}}}}, {{Title: "vast", Mean: estimate(1e17), Curve: []sweep.Band{{Steps: 9, Estimate: estimate(1e17)}}}}} {
		for _, draw := range []func(string, []sweep.Row, func(float64) string) []byte{sweeppage.Curves, sweeppage.Areas} {
			svg := draw("<odd>", rows, sweeppage.Shower("return"))
			wellFormed(t, svg)
			require.NotContains(t, string(svg), "NaN")
			require.NotContains(t, string(svg), "Inf")
		}
	}
}

func wellFormed(t *testing.T, svg []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
	}
}
