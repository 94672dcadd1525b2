package runspage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/rubric/view/viewtest"
	"github.com/merit-rl/merit/internal/ui/browsertest"
)

// Promise: the list updates as runs appear, disappear and progress; the filter, the order and
// the selection are in the URL, and all of it works by keyboard.
func TestListPage(t *testing.T) {
	dir := t.TempDir()
	d := small(t, filepath.Join(dir, "first"), "seed: 7\n", 21, 0.5)
	small(t, filepath.Join(dir, "second"), "seed: 8\n", 5, 0.1).Close()
	tab := browsertest.Open(t, serve(t, dir).URL())
	tab.Go("/")
	tab.Wait(`document.querySelectorAll("[data-item]").length === 2 && document.getElementById("live").dataset.state === "live"`)
	require.NoError(t, d.Record(iteration(21, 0.5)))
	tab.Wait(`document.querySelector("[data-run=first]").textContent.includes("24 %") || document.querySelector("[data-run=first]").cells[7].textContent === "21"`)
	small(t, filepath.Join(dir, "deep/er/third"), "seed: 9\n", 2, 0.1).Close()
	tab.Wait(`document.querySelector("[data-run='deep/er/third']")`)
	tab.Screenshot("runs-list")

	tab.Press("/")
	tab.Type("ir")
	tab.Wait(`document.querySelectorAll("[data-item]").length === 2`)
	tab.Press(browsertest.Enter, "x", "j", "x")
	tab.Wait(`document.getElementById("compare").textContent.startsWith("compare 2")`)
	require.Contains(t, tab.Path(), "q=ir")
	require.Contains(t, tab.Path(), "tick=first")
	tab.Go(tab.Path()) // a deep link
	tab.Wait(`document.querySelectorAll("[data-item] input:checked").length === 2`)
	tab.Press("o")
	tab.Wait(`location.pathname === "/compare"`)
	tab.Ready()
	tab.Wait(`document.querySelectorAll("#charts figure").length > 3`)
	require.Contains(t, tab.Text("#differences"), "seed")
}

// Promise: a run's curves and red flags update live; dragging zooms in and stays so during
// updates, the URL records the zoom, and z zooms out.
func TestRunPage(t *testing.T) {
	dir := t.TempDir()
	d := small(t, filepath.Join(dir, "a"), "seed: 7\n", 50, 0.5)
	tab := browsertest.Open(t, serve(t, dir).URL())
	tab.Go("/run?run=a")
	tab.Wait(`document.querySelector("[data-title=success] .chart .band") && document.getElementById("live").dataset.state === "live"`)
	require.Contains(t, tab.Text("#lead"), "iteration 49")
	it := iteration(50, 0.5)
	it.Alarms = []run.Alarm{{Name: "no_variance", Level: run.Alert, Iteration: 50, Evidence: "<img src=x onerror=alert(1)>\u202e", Advice: "read", Trajectories: []string{"train-24-g1-m0"}}}
	require.NoError(t, d.Record(it))
	tab.Wait(`document.querySelector("#flags td:nth-child(2)")?.textContent === "no_variance"`)
	require.Contains(t, tab.Text("#flags"), "<img src=x onerror=alert(1)>⟨U+202E⟩")
	require.Contains(t, tab.Text("#outcomes"), "timeout")
	tab.Wait(`document.querySelectorAll("[data-title=success] .flag.alarm").length === 1`)

	// A drag continues during updates, which are shown when it has ended.
	tab.Drag("[data-title=success] .chart", 0.5, 0.8, func() {
		browsertest.Eval[int](tab, `(performance.clearResourceTimings(), 0)`)
		require.NoError(t, d.Record(iteration(51, 0.5)))
		tab.Wait(`performance.getEntriesByType("resource").some((e) => e.name.includes("/data/curves"))`)
	})
	tab.Wait(`document.getElementById("lead").textContent.includes("iteration 51")`)
	tab.Wait(`new URLSearchParams(location.search).get("from") > 15`)
	tab.Go(tab.Path())
	tab.Wait(`document.querySelector("[data-title=success] .chart")`)
	tab.Press("z")
	tab.Wait(`!location.search.includes("from")`)
	tab.Click("#more")
	tab.Type("outcomes/timeout")
	tab.Press(browsertest.Enter)
	tab.Wait(`document.querySelector("[data-title='outcomes/timeout'] .line")`)
	tab.Screenshot("runs-run")
	require.NoError(t, d.WriteSummary(&run.Summary{Stop: run.StopIterations, Iterations: 50}))
	tab.Wait(`document.body.textContent.includes("Before and after")`) // the page reloads itself
}

// Promise: the list and the page of a run that is being written show how far it is, and the time
// to its last iteration; a finished run shows neither.
func TestProgress(t *testing.T) {
	dir := t.TempDir()
	d := small(t, filepath.Join(dir, "a"), "seed: 7\ntrain: {iterations: 200}\n", 51, 0.5)
	s := serve(t, dir)
	var p page
	fetch(t, s.URL()+"/data/runs", &p)
	require.Equal(t, 200, p.Runs[0].Of)
	require.InDelta(t, 300, *p.Runs[0].Left, 1e-6, "150 iterations of 2 seconds")
	tab := browsertest.Open(t, s.URL())
	tab.Go("/runs")
	tab.Wait(`document.querySelector("[data-run=a] progress")?.value === 50`)
	require.Regexp(t, `(?s)running.*at most 5 min left.*50 of 200`, tab.Text("[data-run=a]"))
	tab.Screenshot("runs-progress")
	tab.Go("/run?run=a")
	tab.Wait(`document.getElementById("progress").value === 50`)
	require.Contains(t, tab.Text("#lead"), "running · iteration 50 of 200")
	require.Contains(t, tab.Text("#lead"), "at most 5 min left")
	require.NoError(t, d.WriteSummary(&run.Summary{Stop: run.StopIterations, Iterations: 50}))
	tab.Wait(`document.getElementById("lead").textContent.startsWith("finished") && document.getElementById("progress").hidden`)
	p = page{}
	fetch(t, s.URL()+"/data/runs", &p)
	require.Nil(t, p.Runs[0].Left)
}

// Promise: on a phone, names break into a few lines and stay in view while the other columns
// scroll; the page itself does not scroll sideways.
func TestPhone(t *testing.T) {
	dir := t.TempDir()
	small(t, filepath.Join(dir, "a-sweep-of-many-seeds/learning-rate=0.0003,clip=0.2,seed=7"), "seed: 7\n", 21, 0.5).Close()
	small(t, filepath.Join(dir, "b"), "seed: 8\n", 21, 0.5).Close()
	tab := browsertest.Open(t, serve(t, dir).URL())
	tab.Width(390)
	for path, name := range map[string]string{"/runs": "[data-item] th", "/compare": "#results tbody th"} {
		tab.Go(path)
		tab.Wait(fmt.Sprintf(`document.querySelector(%q)`, name))
		tallest := browsertest.Eval[float64](tab, fmt.Sprintf(`Math.max(...[...document.querySelectorAll(%q)].map((e) => e.getBoundingClientRect().height))`, name))
		require.Less(t, tallest, 150.0, path)
		left := browsertest.Eval[float64](tab, fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.closest(".scroll").scrollLeft = 400; return e.getBoundingClientRect().left })()`, name))
		require.GreaterOrEqual(t, left, 0.0, path)
		require.Equal(t, 390, browsertest.Eval[int](tab, `document.documentElement.scrollWidth`), path)
		tab.Screenshot("phone" + path[1:])
	}
}

// Promise: figures are the numbers of the run unless they say "smoothed"; the mouse names the
// iteration that it points at, and what another curve measured at another iteration, and moves
// nothing; a chart can be drawn large and on a logarithmic axis, and the URL records both.
func TestFiguresAreRaw(t *testing.T) {
	dir := t.TempDir()
	small(t, filepath.Join(dir, "a"), "seed: 7\n", 50, 0.5).Close()
	tab := browsertest.Open(t, serve(t, dir).URL())
	tab.Go("/run?run=a&smooth=0.8")
	tab.Wait(`document.querySelector("[data-title=success] .chart .line.faint")`)
	require.Contains(t, tab.Text("[data-title='entropy, nats'] figcaption"), "0.02", "1/50, as the run measured it")
	require.NotContains(t, tab.Text("[data-title='entropy, nats'] figcaption"), "smoothed")
	places := `JSON.stringify([...document.querySelectorAll("#charts figure")].map((f) => [f.getBoundingClientRect().top + scrollY, f.getBoundingClientRect().height]))`
	before := browsertest.Eval[string](tab, places)
	// 50 points over 258 of 320 pixels: iteration 22 is between two validations.
	tab.Hover("[data-title=success] .chart", `(52 + 22/49*(w-62))/w`)
	tab.Wait(`document.querySelector("[data-title=success] .tip:not([hidden])")`)
	browsertest.Eval[int](tab, `(dispatchEvent(new Event("resize")), 0)`)
	require.Regexp(t, `(?s)iteration 22.*validation 20.0 %.*, iteration 20.*training 22.0 % \(smoothed \d+\.\d %\)`, tab.Text("[data-title=success] .tip"))
	require.Equal(t, before, browsertest.Eval[string](tab, places), "nothing has moved")
	tab.Press("b")
	tab.Wait(`location.search.includes("log=1") && document.querySelector("[data-title=success] figcaption").textContent.includes("not on a logarithmic axis")`)
	tab.Click("[data-title='entropy, nats'] .enlarge")
	tab.Wait(`location.search.includes("large=entropy") && document.querySelector("figure.large .chart").getBoundingClientRect().width > 900`)
	tab.Screenshot("runs-large")
	tab.Go(tab.Path()) // a deep link
	tab.Wait(`document.querySelector("figure.large[data-title='entropy, nats']") && document.getElementById("log").checked`)
}

// Promise: runs are overlaid in stable colors and can be hidden; the page shows the
// configuration keys that differ and no others.
func TestComparePage(t *testing.T) {
	dir := t.TempDir()
	small(t, filepath.Join(dir, "a"), "seed: 7\ntrain: {iterations: 50, target: 1}\n", 50, 0.9).Close()
	small(t, filepath.Join(dir, "b"), "seed: 7\ntrain: {iterations: 40, target: 1}\n", 40, 0.4).Close()
	small(t, filepath.Join(dir, "c"), "seed: 7\ntrain: {iterations: 50, target: 1}\n", 50, 0.2).Close()
	s := serve(t, dir)
	tab := browsertest.Open(t, s.URL())
	tab.Dark(true)
	tab.Go("/compare?run=a&run=b&run=c")
	tab.Wait(`document.querySelectorAll("[data-title=success] .band").length === 3`)
	require.Equal(t, 1, browsertest.Eval[int](tab, `document.querySelectorAll("#differences tbody tr").length`))
	require.Regexp(t, `train\.iterations\s+50\s+40\s+50`, tab.Text("#differences tbody"))
	tab.Click("#legend input[data-run=b]")
	tab.Wait(`document.querySelectorAll("[data-title=success] .band").length === 2 && location.search.includes("hide=b")`)
	require.Equal(t, 1, browsertest.Eval[int](tab, `document.querySelectorAll("[data-title=success] .band.c2").length`), "c keeps its colour")
	tab.Screenshot("runs-compare-dark")
	tab.Press("v")
	tab.Wait(`document.getElementById("verdict").textContent.includes("not compared")`) // the runs are not finished
	tab.Click(".away[data-run=c]")
	tab.Wait(`document.querySelectorAll("#results [data-item]").length === 2`)
	many := "/compare?"
	for i := range maxCompared + 1 {
		many += fmt.Sprintf("run=%d&", i)
	}
	status, text := fetch(t, s.URL()+many, nil)
	require.Equal(t, 400, status)
	require.Contains(t, text, "too many")
}

// comparing writes a finished run whose reward compares.
func comparing(t *testing.T, dir string, rise float64) {
	d := begin(t, dir, "seed: 7\n")
	for i := range 41 {
		it, rate := iteration(i, 0), 0.5+rise*float64(i)/40
		if it.Validation != nil {
			it.Validation.Wins = &run.Wins{Rate: rate, Interval: run.Interval{rate - 0.1, rate + 0.1}}
		}
		require.NoError(t, d.Record(it))
	}
	won := run.Result{}
	won.Wins = &run.Wins{Rate: 0.5 + rise, Interval: run.Interval{0.4 + rise, 0.6 + rise}}
	require.NoError(t, d.WriteSummary(&run.Summary{Stop: run.StopIterations, Iterations: 40, Trained: won}))
	require.NoError(t, d.Close())
}

// Promise: of rewards that compare, the page has the win rates of all runs in one chart, with
// their intervals, and those of the tests in the table; without such a run it has neither.
func TestCompareWinRates(t *testing.T) {
	dir := t.TempDir()
	comparing(t, filepath.Join(dir, "a"), 0.3)
	comparing(t, filepath.Join(dir, "b"), 0.1)
	small(t, filepath.Join(dir, "c"), "seed: 7\n", 41, 0.2).Close()
	small(t, filepath.Join(dir, "d"), "seed: 8\n", 41, 0.2).Close()
	tab := browsertest.Open(t, serve(t, dir).URL())
	tab.Go("/compare?run=a&run=b&run=c")
	const chart = `document.querySelector("[data-title^='win rate']")`
	tab.Wait(chart + `?.querySelectorAll(".band").length === 2`)
	require.Equal(t, 0, browsertest.Eval[int](tab, `[...document.querySelectorAll("#charts figure")].indexOf(`+chart+`)`), "it decides, so it is first")
	require.Contains(t, browsertest.Eval[string](tab, chart+`.textContent`), "80.0 %")
	require.Regexp(t, `win rate\s+95 %`, tab.Text("#results thead"))
	require.Regexp(t, `80\.0 %\s+\[70\.0 %, 90\.0 %\]`, tab.Text("#results [data-run=a]"))
	require.Regexp(t, `60\.0 %\s+\[50\.0 %, 70\.0 %\]`, tab.Text("#results [data-run=b]"))
	require.Contains(t, tab.Text("#results [data-run=c]"), "not finished")
	tab.Screenshot("runs-compare-wins")
	tab.Go("/compare?run=c&run=d")
	tab.Wait(`document.querySelectorAll("[data-title=success] .band").length === 2`)
	require.NotContains(t, tab.Text("main"), "win rate")
}

// Promise: runs that differ only in their seed have one curve: the mean, with a band from the
// lowest to the highest, also for more runs than there are colors; more configurations than
// that are refused.
func TestMeanOverSeeds(t *testing.T) {
	dir := t.TempDir()
	for i := range 5 {
		small(t, filepath.Join(dir, fmt.Sprintf("gigpo-s%d", i)), fmt.Sprintf("seed: %d\ntrain: {iterations: 50}\n", i), 50, 0.1*float64(i+1)).Close()
		small(t, filepath.Join(dir, fmt.Sprintf("grpo-s%d", i)), fmt.Sprintf("seed: %d\ntrain: {iterations: 51}\n", i), 50, 0.1).Close()
	}
	s := serve(t, dir)
	tab := browsertest.Open(t, s.URL())
	tab.Go("/compare?run=gigpo-s0&run=gigpo-s4&run=grpo-s0")
	tab.Wait(`document.querySelectorAll("[data-title=success] .line").length === 6`)
	tab.Press("m")
	tab.Wait(`document.querySelectorAll("[data-title=success] .line").length === 4 && location.search.includes("seeds=1")`)
	require.Contains(t, tab.Text("#groups"), "gigpo-s × 2 seeds")
	require.Contains(t, tab.Text("#groups"), "grpo-s0")
	tab.Hover("[data-title=success] .chart", `(52 + 30/49*(w-62))/w`)
	tab.Wait(`document.querySelector("[data-title=success] .tip:not([hidden])")`)
	require.Contains(t, tab.Text("[data-title=success] .tip"), "gigpo-s × 2 seeds training 18.0 % [6.0 %, 30.0 %]")
	tab.Screenshot("runs-seeds")
	all := "/compare?"
	for i := range 5 {
		all += fmt.Sprintf("run=gigpo-s%d&run=grpo-s%d&", i, i)
	}
	tab.Go(all)
	tab.Wait(`document.querySelectorAll("[data-title=success] .line").length === 4 && document.getElementById("seeds").disabled`)
	for i := range 9 {
		small(t, filepath.Join(dir, fmt.Sprint("x", i)), fmt.Sprintf("seed: 7\ntrain: {iterations: %d}\n", 10+i), 2, 0.1).Close()
	}
	status, text := fetch(t, s.URL()+"/compare?run=x0&run=x1&run=x2&run=x3&run=x4&run=x5&run=x6&run=x7&run=x8", nil)
	require.Equal(t, 400, status)
	require.Contains(t, text, "9 different configurations")
}

// Promise: the page of a group shows every member and step with the advantages in the file;
// steps with the same state are highlighted together; a click explains a step with the numbers
// of internal/recheck/explain, and links to its peers and back.
func TestGroupsAndStep(t *testing.T) {
	dir := t.TempDir()
	keptRun(t, filepath.Join(dir, "a"), nil)
	tab := browsertest.Open(t, serve(t, dir).URL())
	tab.Go("/groups?run=a&iteration=24")
	require.Equal(t, 4, browsertest.Eval[int](tab, `document.querySelectorAll("#sides thead tr:first-child a").length`))
	tab.Screenshot("runs-groups")
	at := `document.querySelector("#sides tbody tr td[data-anchor]")`
	lit := browsertest.Eval[int](tab, fmt.Sprintf(`[...document.querySelectorAll("td[data-anchor]")].filter((c) => c.dataset.anchor === %s.dataset.anchor).length`, at))
	require.Greater(t, lit, 1)
	tab.Press("j", "l")
	tab.Wait(fmt.Sprintf(`document.querySelectorAll("td.same").length === %d`, lit))
	shown := browsertest.Eval[string](tab, at+`.querySelector(".a").textContent`)
	tab.Press(browsertest.Enter) // the link is focused
	tab.Wait(`location.pathname === "/step"`)
	tab.Ready()
	require.Contains(t, tab.Text("#agree"), "bit for bit")
	var advantage, cell float64
	require.NoError(t, json.Unmarshal([]byte(trimPlus(tab.Text("#advantage"))), &advantage))
	require.NoError(t, json.Unmarshal([]byte(trimPlus(shown)), &cell))
	require.InEpsilon(t, cell, advantage, 0.01)
	require.Equal(t, lit, browsertest.Eval[int](tab, `document.querySelectorAll("#peers tbody tr").length`))
	tab.Screenshot("runs-step")
	before := tab.Path()
	tab.Click("#peers tbody tr:not(.this) a")
	tab.Wait(fmt.Sprintf(`location.pathname + location.search !== %q`, before))
	tab.Ready()
	tab.Press("u")
	tab.Wait(`location.pathname === "/groups"`)
	tab.Ready()
	tab.Press("]")
	tab.Wait(`location.search.includes("iteration=26")`)
}

// Promise: with an estimator on a graph, the page of a step draws the graph around it: the own
// edge is marked, names and numbers are those of the explanation, and a phone shows it whole.
func TestGraphOfAStep(t *testing.T) {
	dir := t.TempDir()
	keptRun(t, filepath.Join(dir, "a"), nil)
	path := filepath.Join(dir, "a", run.ConfigFile)
	config, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, bytes.Replace(config, []byte("estimator: gigpo"), []byte("estimator: graphgpo"), 1), 0o644))
	tab := browsertest.Open(t, serve(t, dir).URL())
	tab.Go("/step?run=a&iteration=24")
	require.Equal(t, 1, browsertest.Eval[int](tab, `document.querySelectorAll("#graph g.own").length`))
	own := browsertest.Eval[string](tab, `document.querySelector("#graph g.own").textContent`)
	require.Contains(t, own, "← this step")
	require.Contains(t, own, "A_S")
	require.Contains(t, browsertest.Eval[string](tab, `document.querySelector("#graph desc").textContent`), "The way to a success: ")
	require.Positive(t, browsertest.Eval[int](tab, `document.querySelectorAll("#graph .wall").length`))
	tab.Screenshot("runs-step-graph")
	tab.Width(390)
	tab.Go("/step?run=a&iteration=24")
	require.True(t, browsertest.Eval[bool](tab, `document.querySelector("#graph svg").getBoundingClientRect().right <= innerWidth`))
	require.GreaterOrEqual(t, browsertest.Eval[float64](tab, `document.querySelector("#graph text").getBoundingClientRect().height`), 10.0)
	tab.Screenshot("runs-step-graph-phone")
}

// Promise: the page of a step shows the ways on from its state, and links the episode that a branch
// left.
func TestBranchesOfAStep(t *testing.T) {
	dir, left := t.TempDir(), ""
	keptRun(t, filepath.Join(dir, "a"), func(e *rl.Trajectory) {
		if of, ok := strings.CutSuffix(e.ID, "-m1"); ok {
			e.BranchOf, left = of+"-m0", e.ID
		}
	})
	tab := browsertest.Open(t, serve(t, dir).URL())
	tab.Go("/step?run=a&step=0&trajectory=" + left)
	require.Equal(t, 2, browsertest.Eval[int](tab, `document.querySelectorAll("#ways tbody tr").length`))
	require.Equal(t, 1, browsertest.Eval[int](tab, `document.querySelectorAll("#ways tr.this").length`))
	tab.Go(browsertest.Eval[string](tab, `document.querySelector("#branches a").getAttribute("href")`))
	require.Contains(t, browsertest.Eval[string](tab, `document.querySelector("h1").textContent`), strings.TrimSuffix(left, "1")+"0, step 0")
	tab.Screenshot("runs-step-branches")
}

func trimPlus(text string) string {
	if len(text) > 0 && text[0] == '+' {
		return text[1:]
	}
	return text
}

// wrote adds a written rubric to an episode.
func wrote(e *rl.Trajectory, tail string) {
	of := viewtest.Episode(e.ID, tail, 1, 0.2)
	e.GroundTruth, e.Notes = of.GroundTruth, of.Notes
	e.Steps[len(e.Steps)-1].Info = of.Steps[0].Info
}

// Promise: a step of an episode with a written rubric shows it next to the intended one, in
// light and dark mode, on a desktop and on a phone.
func TestRubricOfAStep(t *testing.T) {
	dir := t.TempDir()
	keptRun(t, filepath.Join(dir, "a"), func(e *rl.Trajectory) { wrote(e, "") })
	tab := browsertest.Open(t, serve(t, dir).URL())
	tab.Go("/step?run=a&iteration=24")
	require.Contains(t, tab.Text("#rubric"), "I will not read more than half a page.")
	require.Contains(t, tab.Text("#rubric .rv-written"), "out_of_fuel on outputs 2, 3, 4, 5, 6")
	require.Equal(t, 6, browsertest.Eval[int](tab, `document.querySelectorAll("#rubric .rv-picture circle.rv-g").length`))
	require.Equal(t, 1, browsertest.Eval[int](tab, `document.querySelectorAll("#rubric .rv-picture circle.rv-s").length`), "a total that is missing is drawn nowhere")
	require.Equal(t, "34px", browsertest.Eval[string](tab, `getComputedStyle(document.querySelector(".rv-cells li")).width`), "the style is there")
	tab.Screenshot("runs-rubric")
}

// Promise: for a finished run whose policies wrote rubrics, each start of the test split shows
// them before and after training, and links to the next.
func TestRubricsPage(t *testing.T) {
	dir := t.TempDir()
	d := small(t, filepath.Join(dir, "a"), "seed: 7\n", 5, 0.5)
	var before, after []*rl.Trajectory
	for i := range 3 {
		before = append(before, viewtest.Episode(fmt.Sprintf("test-baseline-g%d-m0", i), "", uint64(i), 0.2))
		after = append(after, viewtest.Episode(fmt.Sprintf("test-trained-g%d-m0", i), "\u202e<img>", uint64(i), 0.9))
	}
	after[1].Outcome, after[1].Evaluation = "timeout", nil
	require.NoError(t, d.WriteEpisodes("test-baseline", before))
	require.NoError(t, d.WriteEpisodes("test-trained", after))
	require.NoError(t, d.WriteSummary(&run.Summary{Stop: run.StopIterations, Iterations: 5}))
	small(t, filepath.Join(dir, "b"), "seed: 8\n", 5, 0.5).Close()
	s := serve(t, dir)
	tab := browsertest.Open(t, s.URL())
	tab.Go("/run?run=a")
	tab.Click("#rubrics")
	tab.Wait(`location.pathname === "/rubrics"`)
	tab.Ready()
	require.Equal(t, 3, browsertest.Eval[int](tab, `document.querySelectorAll("#starts tbody tr").length`))
	require.Contains(t, tab.Text("#trained .rv-written"), "who does what")
	require.Contains(t, tab.Text("#untrained .rv-written"), "out_of_fuel")
	require.Contains(t, tab.Text("#trained"), "⟨U+202E⟩<img>")
	require.Regexp(t, `1\s+outage-report\S+\s+-\S+\s+none`, tab.Text("#starts"), "a score that is not there is no number")
	tab.Dark(true)
	tab.Screenshot("runs-rubrics-dark")
	tab.Press("l")
	tab.Wait(`location.search.includes("start=1")`)
	tab.Ready()
	require.Contains(t, tab.Text("#trained"), "no score: timeout")
	for _, path := range []string{"/rubrics?run=b", "/rubrics?run=a&start=3"} {
		status, text := fetch(t, s.URL()+path, nil)
		require.Equal(t, 404, status)
		require.Contains(t, text, "both wrote a rubric")
	}
}

// Promise: the rubrics of a run are read once for all its starts, and again if they have
// changed or another run is shown.
func TestRubricsAreReadOnce(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, n int) string {
		d := small(t, filepath.Join(dir, name), "seed: 7\n", 5, 0.5)
		var all []*rl.Trajectory
		for i := range n {
			all = append(all, viewtest.Episode(fmt.Sprintf("e%d", i), "", uint64(i), 0.2))
		}
		require.NoError(t, d.WriteEpisodes(beforeTraining, all))
		require.NoError(t, d.WriteEpisodes(afterTraining, all))
		d.Close()
		return filepath.Join(dir, name)
	}
	a, b, none := write("a", 2), write("b", 3), t.TempDir()
	var w lastRead
	rows := func(of string) []writing {
		got, err := w.of(of)
		require.NoError(t, err)
		return got
	}
	first := rows(a)
	require.Len(t, first, 2)
	require.Same(t, first[0].After, rows(a)[0].After, "not read again")
	require.Len(t, rows(b), 3)
	require.Empty(t, rows(none))
	again := rows(a)
	require.NotSame(t, first[0].After, again[0].After, "one run is kept")

	changed, err := os.ReadFile(evaluation(b, afterTraining))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(evaluation(a, afterTraining), changed, 0o600))
	require.NoError(t, os.WriteFile(evaluation(a, beforeTraining), changed, 0o600))
	require.Len(t, rows(a), 3, "the files have changed")
}

// Promise: text from an environment or a model is shown as text on every page: its scripts do
// not run, and characters that would reverse or hide text are visible.
func TestHostileEpisodes(t *testing.T) {
	const script, turned = `<script>alert(1)</script><img src=x onerror=alert(1)>`, "\u202eevil\x1b[2J"
	dir := t.TempDir()
	keptRun(t, filepath.Join(dir, script[:8]+" name"), func(e *rl.Trajectory) {
		for i := range e.Messages {
			e.Messages[i].Content = rl.Text(script + turned)
		}
		for i := range e.Steps {
			e.Steps[i].Action.Text = script + turned
			e.Steps[i].Anchor = script + turned
		}
		wrote(e, script+turned)
	})
	tab := browsertest.Open(t, serve(t, dir).URL())
	for _, path := range []string{"/runs", "/run", "/groups", "/step", "/compare"} {
		tab.Go(path)
		tab.Wait(`document.getElementById("live").dataset.state === "live"`)
		require.Zero(t, browsertest.Eval[int](tab, `document.querySelectorAll("main script, main img").length`), path)
		require.Zero(t, browsertest.Eval[int](tab, `[...document.querySelectorAll("main *")].filter((e) => /[\u202e\u001b]/.test(e.textContent + (e.title ?? ""))).length`), path)
	}
	tab.Go("/step")
	require.Contains(t, tab.Text(".message .text"), script+"⟨U+202E⟩evil⟨U+001B⟩")
}
