package promptpage

import (
	"html"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/cost"
	"github.com/merit-rl/merit/internal/prompt"
	"github.com/merit-rl/merit/internal/runs/spent"
)

// Promise: for any two texts, a diff without its additions is the old text, and without its
// removals the new text.
func TestADiffIsBothTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		var b strings.Builder
		for range r.IntN(30) {
			b.WriteString([]string{"a", "bb ", " ", "\n", "ü", "the ", "\t", "word "}[r.IntN(8)])
		}
		return b.String()
	}
	for range 2000 {
		a, b := text(), text()
		var before, after strings.Builder
		for _, s := range Diff(a, b) {
			if s.Change != Added {
				before.WriteString(s.Text)
			}
			if s.Change != Removed {
				after.WriteString(s.Text)
			}
		}
		require.Equal(t, a, before.String())
		require.Equal(t, b, after.String())
	}
	require.Equal(t, []Span{{Same, "Answer "}, {Removed, "now."}, {Added, "in one word."}}, Diff("Answer now.", "Answer in one word."))
}

// Promise: text from a model is text on the page: no markup, and nothing hidden; the page
// shows the chosen prompt, the curve and the verdict.
func TestThePageIsSafe(t *testing.T) {
	hostile := `</p><script>alert(1)</script><img src=x onerror=alert(1)>` + "\u202Egnirts\u200B"
	estimate := prompt.Estimate{Mean: 0.5, Low: 0.25, High: 0.75, N: 20}
	text, err := HTML(hostile, &prompt.Result{
		Chosen: 1, Prompt: hostile, Stop: prompt.StopRounds, Sentence: "no difference is shown",
		HeldOut:    []prompt.Point{{HeldOut: estimate}, {Round: 1, Candidate: 1, HeldOut: estimate}},
		Candidates: []prompt.Candidate{{Text: "Answer.", How: prompt.Start, Parent: -1, Train: estimate}, {ID: 1, Text: hostile, How: prompt.Edit, Round: 1, Critique: hostile}},
		Rounds:     []prompt.Round{{Number: 1, Parents: []int{0}, Made: []int{1}, Beam: []int{1, 0}}},
	}, spent.Uses("EUR", []string{"answers", "editor"}, cost.Models{"small": {Calls: 3, Prompt: 1200, Completion: 4, Money: 0.5}}, nil))
	require.NoError(t, err)
	page := string(text)
	require.NotContains(t, page, "<script")
	require.NotContains(t, page, "<img")
	require.NotContains(t, page, "\u202E")
	require.Contains(t, html.UnescapeString(page), "⟨U+202E⟩gnirts⟨U+200B⟩")
	require.Contains(t, page, "&lt;script&gt;")
	require.Contains(t, page, "no difference is shown")
	require.Contains(t, page, "<th>EUR")
	require.Contains(t, page, "<td>0.5000")
	require.Contains(t, page, "0.500 [0.250, 0.750] of 20")
	require.Contains(t, page, "<del>Answer.</del>")
	require.Equal(t, 2, strings.Count(page, `class="point"`))
	require.NotContains(t, page, "NaN")
}

// Promise: scores that are all equal, or of any magnitude, can be drawn.
func TestCurvesOfAnySize(t *testing.T) {
	for _, v := range []float64{0, 1, -1e9, 1e-12, 1e12} {
		e := prompt.Estimate{Mean: v, Low: v, High: v, N: 3}
		svg := curve(&prompt.Result{HeldOut: []prompt.Point{{HeldOut: e}, {Round: 3, HeldOut: e}}})
		require.Contains(t, svg, "<circle")
		require.NotContains(t, svg, "NaN")
		require.NotContains(t, svg, "Inf")
		require.Less(t, len(svg), 4000)
	}
	require.Empty(t, curve(&prompt.Result{HeldOut: []prompt.Point{{}}}))
}
