package report_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/report"
	"github.com/merit-rl/merit/internal/rubric/view/viewtest"
)

const hostile = `<script>alert("x")</script>`

// dir makes a small run whose texts are hostile.
func dir(t *testing.T, finished bool) string {
	t.Helper()
	path := t.TempDir()
	m := run.NewManifest(hostile, 1)
	m.Started = time.Unix(0, 0)
	m.Rewards = []run.Module{{Name: hostile, Digest: "sha256:feed", Weight: 1}}
	m.Plugins = []run.Plugin{{Name: "sokoban", Version: hostile, Digest: "sha256:beef"}}
	d, err := run.Start(path, run.Options{Config: []byte("# " + hostile), Manifest: m})
	require.NoError(t, err)
	defer d.Close()
	score := &run.Score{Success: 0.5, SuccessInterval: run.Interval{0.4, 0.6}, Episodes: 10}
	require.NoError(t, d.Record(run.Iteration{Validation: score, Best: true}))
	for i := 1; i <= 3; i++ {
		require.NoError(t, d.Record(run.Iteration{
			Iteration: i, Rollout: &run.Rollout{Success: 0.5}, Advantage: &run.Advantage{}, Update: &run.Update{Entropy: 1.2},
			Outcomes: map[string]int{"scored": 9, hostile: 1},
		}))
	}
	if !finished {
		return path
	}
	require.NoError(t, d.WriteSummary(&run.Summary{Baseline: run.Result{Score: *score}, Trained: run.Result{Score: *score}, Test: hostile}))
	play := func(stop rl.StopReason, board string) *rl.Trajectory {
		e := &rl.Trajectory{ID: "train-3-g0-m0", StopReason: stop, Messages: []rl.Message{{Role: rl.RoleUser, Content: rl.Text(board)}}}
		for i := range 8 {
			e.Steps = append(e.Steps, rl.Step{Index: i, MessageCount: 1 + 2*i, Action: rl.Action{Text: hostile}, Credit: &rl.Credit{Advantage: 0.25}})
			e.Messages = append(e.Messages, rl.Message{Role: rl.RoleAssistant, Content: rl.Text("up")}, rl.Message{Role: rl.RoleUser, Content: rl.Text(board)})
		}
		return e
	}
	require.NoError(t, d.WriteEpisodes("test-baseline", []*rl.Trajectory{play(rl.StopTruncated, "#####\n#@$.#\n#####")}))
	require.NoError(t, d.WriteEpisodes("test-trained", []*rl.Trajectory{play(rl.StopTerminated, "#####\n# @*#\n#####")}))
	require.NoError(t, d.SaveEpisodes([]*rl.Trajectory{play(rl.StopTerminated, hostile)}))
	return path
}

// Promise: the report shows what the run found, needs no network and escapes
// everything.
func TestReport(t *testing.T) {
	html, err := report.Make(dir(t, true))
	require.NoError(t, err)
	page := string(html)
	for _, want := range []string{"50 %", "sha256:feed", "sha256:beef", `class="box target"`, "0.25", "&lt;script&gt;alert"} {
		require.Contains(t, page, want)
	}
	require.NotContains(t, page, hostile)
	require.NotContains(t, page, "ZgotmplZ", "a value was refused by the template")
	require.Equal(t, 1, strings.Count(page, "<script>"))
	require.Empty(t, regexp.MustCompile(`(?i)(src|href)\s*=|url\(|@import|https?://`).FindAllString(page, -1))
}

// Promise: a run that is not finished has a report too.
func TestReportOfAnUnfinishedRun(t *testing.T) {
	html, err := report.Make(dir(t, false))
	require.NoError(t, err)
	require.Contains(t, string(html), "not finished")
}

// Promise: a folder that is not a run is an error.
func TestReportOfNothing(t *testing.T) {
	_, err := report.Make(t.TempDir())
	require.Error(t, err)
	_, err = report.Make(os.DevNull)
	require.Error(t, err)
}

// Promise: what a language model said before and after training is shown in its
// words, escaped, with what had no effect, and beside it what the model was.
func TestReportOfALanguageModel(t *testing.T) {
	path := t.TempDir()
	m := run.NewManifest("test", 1)
	m.Policy = &run.Policy{Plugin: run.Plugin{Name: "tinker", Version: "1"}, Model: "smollm2" + hostile, Tokenizer: "sha256:cafe"}
	d, err := run.Start(path, run.Options{Config: []byte("seed: 1"), Manifest: m})
	require.NoError(t, err)
	defer d.Close()
	require.NoError(t, d.Record(run.Iteration{Validation: &run.Score{}}))
	require.NoError(t, d.Record(run.Iteration{
		Iteration: 1, Rollout: &run.Rollout{}, Advantage: &run.Advantage{}, Update: &run.Update{Sequences: 3, Tokens: 7, Ratio: 1, DriftMax: 2e-5},
	}))
	require.NoError(t, d.WriteSummary(&run.Summary{}))
	talk := func(stop rl.StopReason, said string, valid bool) []*rl.Trajectory {
		return []*rl.Trajectory{{
			ID: "test-g0-m0", StopReason: stop, Messages: []rl.Message{
				{Role: rl.RoleUser, Content: rl.Text("a2: north 1")}, {Role: rl.RoleAssistant, Content: rl.Text(said)},
				{Role: rl.RoleUser, Content: rl.Text("What then?")},
			},
			Steps: []rl.Step{{MessageCount: 1, RawOutput: said, ActionValid: valid}},
		}}
	}
	require.NoError(t, d.WriteEpisodes("test-baseline", talk(rl.StopTruncated, "to the "+hostile, false)))
	require.NoError(t, d.WriteEpisodes("test-trained", talk(rl.StopTerminated, "Move: north", true)))
	html, err := report.Make(path)
	require.NoError(t, err)
	page := string(html)
	for _, want := range []string{"<pre>a2: north 1</pre>", "to the &lt;script&gt;", "no effect", "Move: north", "smollm2&lt;script", "sha256:cafe", "2e-05", "Learner ÷ sampler"} {
		require.Contains(t, page, want)
	}
	require.NotContains(t, page, hostile)
}

// Promise: where both policies end an episode, as with a single reply, starts
// are shown that score higher since.
func TestReportOfReplies(t *testing.T) {
	path := t.TempDir()
	d, err := run.Start(path, run.Options{Manifest: run.NewManifest("test", 1)})
	require.NoError(t, err)
	defer d.Close()
	require.NoError(t, d.Record(run.Iteration{}))
	reply := func(said string, scores ...float64) (all []*rl.Trajectory) {
		for i, score := range scores {
			all = append(all, &rl.Trajectory{
				StopReason: rl.StopTerminated, Evaluation: &rl.EvaluateResult{Score: score},
				Messages: []rl.Message{{Role: rl.RoleUser, Content: rl.Text("A title?")}, {Role: rl.RoleAssistant, Content: rl.Text("…")}},
				Steps:    []rl.Step{{MessageCount: 1, RawOutput: said + strconv.Itoa(i)}},
			})
		}
		return all
	}
	require.NoError(t, d.WriteEpisodes("test-baseline", reply("before", 1, 0, 0)))
	require.NoError(t, d.WriteEpisodes("test-trained", reply("after", 0, 0, 1)))
	html, err := report.Make(path)
	require.NoError(t, err)
	require.Equal(t, []string{"before2", "after2"}, regexp.MustCompile(`(before|after)\d`).FindAllString(string(html), -1))
}

// Promise: of a whole group that was kept, each step leads to what its advantage
// is made of, to every step that saw the same state and to the members; what
// the run says does not escape, and where numbers differ the page says so.
func TestReportOfAWholeGroup(t *testing.T) {
	path := t.TempDir()
	d, err := run.Start(path, run.Options{Config: []byte("rollout: {members: 3}\nadvantage: {gamma: 0.5}"), Manifest: run.NewManifest("test", 1)})
	require.NoError(t, err)
	defer d.Close()
	require.NoError(t, d.Record(run.Iteration{}))
	var members []*rl.Trajectory
	for i, score := range []float64{1, 0} {
		e := &rl.Trajectory{
			ID: "train-3-g1-m" + strconv.Itoa(i), Group: "train-3-g1", Outcome: "scored", StopReason: rl.StopTerminated,
			Evaluation: &rl.EvaluateResult{Score: score, IsScoreValid: true},
			Messages:   []rl.Message{{Role: rl.RoleUser, Content: rl.Text("hall")}, {Role: rl.RoleAssistant}, {Role: rl.RoleUser, Content: rl.Text("door")}},
			Steps:      []rl.Step{{MessageCount: 1, Anchor: hostile, ActionValid: true, Action: rl.Action{Text: hostile}}},
		}
		e.Steps[0].Credit = &rl.Credit{BaseReward: score, Return: score, EpisodeAdvantage: score - 0.5, StepAdvantage: score - 0.5, Advantage: 2*score - 1}
		members = append(members, e)
	}
	lost := &rl.Trajectory{ID: "train-3-g1-m2", Group: "train-3-g1", Outcome: "trap", StopReason: rl.StopError, Error: hostile}
	require.NoError(t, d.SaveEpisodes(append(members, lost)))
	html, err := report.Make(path)
	require.NoError(t, err)
	page := string(html)
	for _, want := range []string{
		"A_E &#43; ω A_S = 0.5 &#43; 1 × 0.5", "= 1 &#43; 0.5 × 0 = 1", `<template id="why-0-0">`, `<template id="why-1-0">`, `data-jump="1-0"`, `<tr data-at="0-0">`,
		"the same to the last bit as what was learned from, for all 2 steps", "<td>trap</td>", "State 0: 2 steps that saw it", "1 of 3 members have no score",
	} {
		require.Contains(t, page, want)
	}
	require.Equal(t, 1, strings.Count(page, `<template id="anchor-`))
	require.NotContains(t, page, hostile)
	require.NotContains(t, page, "ZgotmplZ")

	// The graph around a step is drawn for estimators that have one, and not for gigpo.
	require.NotContains(t, page, "<svg class=\"graph-view\"")
	config := filepath.Join(path, run.ConfigFile)
	require.NoError(t, os.WriteFile(config, []byte("rollout: {members: 3}\nadvantage: {gamma: 0.5, estimator: graphgpo}"), 0o644))
	html, err = report.Make(path)
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(string(html), "<svg class=\"graph-view\""))
	require.Contains(t, string(html), "The graph is drawn for the 2 steps with the largest A<sub>S</sub>.")
	require.NotContains(t, string(html), hostile)
	require.NoError(t, os.WriteFile(config, []byte("rollout: {members: 3}\nadvantage: {gamma: 0.5}"), 0o644))

	// A later iteration whose group is not whole, and whose numbers are not those.
	for _, e := range members {
		e.ID, e.Group = strings.Replace(e.ID, "3", "4", 1), "train-4-g1"
		e.Steps[0].Credit.Advantage = 9
	}
	require.NoError(t, d.SaveEpisodes(members))
	html, err = report.Make(path)
	require.NoError(t, err)
	require.Contains(t, string(html), "1 more were not kept")
	lost.ID, lost.Group = "train-4-g1-m2", "train-4-g1"
	require.NoError(t, d.SaveEpisodes([]*rl.Trajectory{lost}))
	html, err = report.Make(path)
	require.NoError(t, err)
	require.Contains(t, string(html), "0 of 2 steps agree")
	require.Contains(t, string(html), "advantage: the run holds 9, computed")
}

// Promise: each red flag is in the report once, at its highest level, with
// the iterations it was raised at, what to read and what became of the
// learner; what it says is escaped.
func TestRedFlags(t *testing.T) {
	path := t.TempDir()
	d, err := run.Start(path, run.Options{Config: []byte("seed: 1\n"), Manifest: run.NewManifest("test", 1)})
	require.NoError(t, err)
	defer d.Close()
	for i := 1; i <= 3; i++ {
		it := run.Iteration{Iteration: i, Rollout: &run.Rollout{}, Advantage: &run.Advantage{}, Update: &run.Update{}}
		it.Alarms = []run.Alarm{{Name: "kl", Level: []run.Level{run.Warn, run.Alert, run.Warn}[i-1], Iteration: i, Evidence: hostile, Advice: "halve the rate", Trajectories: []string{"train-3-g0-m0"}}}
		if i == 2 {
			it.Adapted = &run.Caution{Rate: 0.5, Clip: 0.5}
		}
		require.NoError(t, d.Record(it))
	}
	html, err := report.Make(path)
	require.NoError(t, err)
	page := string(html)
	require.Contains(t, page, `<b class="flag alarm">alarm</b> kl</td><td>1 – 3, 3 times</td>`)
	require.Contains(t, page, `Read first: <span class="mono">train-3-g0-m0</span>`)
	require.Contains(t, page, "After iteration 2 the learning rate was 50 % and the clip 50 %")
	require.NotContains(t, page, hostile)
}

// Promise: where rubrics were written, the starts with the largest, the median
// and the smallest gain are shown, before and after, with the means of each
// stakeholder; one without a score is shown as such, and nothing is markup.
func TestReportOfRubrics(t *testing.T) {
	path := t.TempDir()
	d, err := run.Start(path, run.Options{Manifest: run.NewManifest("test", 1)})
	require.NoError(t, err)
	defer d.Close()
	require.NoError(t, d.Record(run.Iteration{}))
	var before, after []*rl.Trajectory
	for i, skill := range []float64{0.6, 1, 0.8, 0.9, 0.7} {
		id := "g" + strconv.Itoa(i) + "-m0"
		before = append(before, viewtest.Episode("test-baseline-"+id, hostile, uint64(i), 0.6))
		after = append(after, viewtest.Episode("test-trained-"+id, hostile, uint64(i), skill))
	}
	after[4].Outcome, after[4].Evaluation = "infrastructure", nil
	require.NoError(t, d.WriteEpisodes("test-baseline", before))
	require.NoError(t, d.WriteEpisodes("test-trained", after))
	require.NoError(t, d.WriteCheck(json.RawMessage(`{"rubrics": 216, "truths": 4, "sentence": "the reward goes up`+strings.ReplaceAll(hostile, `"`, `\"`)+`", "rank_agreement": {"spearman": {"value": 0.79, "interval": [0.74, 0.81]}}}`)))
	html, err := report.Make(path)
	require.NoError(t, err)
	page := string(html)
	require.Contains(t, page, "216 rubrics of known quality were scored for 4 stakeholders: the reward goes up&lt;script&gt;")
	require.Contains(t, page, "(Spearman 0.79 [0.74, 0.81]")
	require.Contains(t, page, "5 starts of the test split")
	titles := regexp.MustCompile(`<h3>([A-Z][a-z ]+): outage-report`).FindAllStringSubmatch(page, -1)
	require.Len(t, titles, 4)
	require.Equal(t, []string{"The largest gain", "The median", "The smallest gain", "Without a score"}, []string{titles[0][1], titles[1][1], titles[2][1], titles[3][1]})
	require.Contains(t, page, "<td>0.6</td><td>0.825</td>", "the means of spearman, over the episodes that have one")
	require.Contains(t, page, `no score: <b class="rv-bad">infrastructure</b>`)
	require.Equal(t, 8, strings.Count(page, `<div class="rubric-view">`))
	require.NotContains(t, page, hostile)
	require.NotContains(t, page, "ZgotmplZ")
	require.Empty(t, regexp.MustCompile(`(?i)(src|href)\s*=|url\(|@import|https?://`).FindAllString(page, -1))
}

// Promise: what environment and rewards measured is drawn by name, of training
// and of validation, and a name is never markup.
func TestReportOfMetrics(t *testing.T) {
	path := t.TempDir()
	d, err := run.Start(path, run.Options{Manifest: run.NewManifest("test", 1)})
	require.NoError(t, err)
	defer d.Close()
	for i := 1; i <= 4; i++ {
		it := run.Iteration{Iteration: i, Rollout: &run.Rollout{}, Advantage: &run.Advantage{}, Update: &run.Update{}}
		it.Outputs = &run.Outputs{Metrics: map[string]float64{"spearman": 0.11 * float64(i), hostile: -1}}
		if i%2 == 0 {
			it.Validation = &run.Score{Metrics: []run.Metric{{Name: "spearman", Mean: 0.2 * float64(i)}}}
		}
		require.NoError(t, d.Record(it))
	}
	html, err := report.Make(path)
	require.NoError(t, err)
	page := string(html)
	require.Contains(t, page, `spearman <span class="value a">validation 0.8</span> <span class="value b">training 0.44</span>`)
	require.Contains(t, page, `<figcaption>&lt;script&gt;`)
	require.NotContains(t, page, hostile)
}
