package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/sdk/reward"
)

func json(text string) reward.Value { return reward.Value{Kind: reward.JSON, JSON: text, Text: text} }

func said(text string) []reward.Message {
	return []reward.Message{{Role: reward.User, Content: "How much is it?"}, {Role: reward.Assistant, Content: text}}
}

// Promise: a ground truth is a text, a number or a list of these, each of which is right.
// Everything else has no score, with the reason, and never 0.
func TestGroundTruths(t *testing.T) {
	text := reward.StringValue
	for name, c := range map[string]struct {
		truth reward.Value
		want  float64 // −1: no score
	}{
		"a text":                {text(`\frac{1}{2}`), 1},
		"another text":          {text(`\frac{1}{3}`), 0},
		"a solution":            {text("It is half.\n#### 1/2"), 1},
		"a number":              {reward.Value{Kind: reward.Number, JSON: "0.5", Text: "0.5", Number: 0.5}, 1},
		"an exponent":           {reward.Value{Kind: reward.Number, JSON: "5e-1", Text: "5e-1", Number: 0.5}, 1},
		"a large number":        {json("1" + "0000000000000000000000000"), 0},
		"alternatives":          {json(`["7", "\\frac{1}{2}"]`), 1},
		"alternatives, numbers": {json(`[ 7 , 0.5 ]`), 1},
		"no right alternative":  {json(`["7", 8]`), 0},
		"escapes":               {json(`["\u0030.5\/1\n"]`), 1},
		"absent":                {reward.Value{}, -1},
		"null":                  {reward.Value{Kind: reward.Null, JSON: "null", Text: "null"}, -1},
		"true":                  {reward.Value{Kind: reward.Bool, JSON: "true", Text: "true", Bool: true}, -1},
		"an object":             {json(`{"value": 0.5}`), -1},
		"no alternatives":       {json(`[]`), -1},
		"a list of lists":       {json(`[["0.5"]]`), -1},
	} {
		got := score(&reward.Rollout{Messages: said(`So it is \boxed{\frac{1}{2}}.`), GroundTruth: c.truth})
		require.Empty(t, got.Error, name)
		require.NotEmpty(t, got.Reason, name)
		require.Equal(t, c.want == -1, got.Invalid, "%s: %s", name, got.Reason)
		if !got.Invalid {
			require.Equal(t, c.want, got.Score, "%s: %s", name, got.Reason)
		}
	}
}

// Promise: the answer begins after the last of each mark; the column after replaces the
// marks, and what is not a list of texts there is an error.
func TestMarks(t *testing.T) {
	text := "<think>#### 3</think>4\n#### 5\nChecked: 6"
	for name, c := range map[string]struct {
		after reward.Value
		want  string
	}{
		"usual":  {reward.Value{}, "5"},
		"a text": {reward.StringValue("Checked:"), "6"},
		"a list": {json(`["</think>", "Checked: "]`), "6"},
		"escape": {json(`["\u003c/think>4\n#\u0023", "\ud83d\ude00"]`), "5"},
	} {
		r := &reward.Rollout{Messages: said(text), GroundTruth: reward.StringValue(c.want), Metadata: []reward.Field{{Key: "after", Value: c.after}}}
		if c.want == "5" {
			r.Messages = said("<think>#### 3</think>4\n#### 5")
		}
		require.Equal(t, 1.0, score(r).Score, name)
	}
	for _, after := range []reward.Value{json(`["a", 1]`), json(`{"a": 1}`), {Kind: reward.Number, JSON: "4", Text: "4"}} {
		r := &reward.Rollout{Messages: said(text), GroundTruth: reward.StringValue("5"), Metadata: []reward.Field{{Key: "after", Value: after}}}
		require.Contains(t, score(r).Error, "after is "+after.JSON, after.JSON)
	}
}

// Promise: the metrics say whether and how it was decided.
func TestMetrics(t *testing.T) {
	got := score(&reward.Rollout{Messages: said(`\boxed{4}`), GroundTruth: reward.StringValue("4")})
	require.Equal(t, reward.Metric{Name: "decided", Value: 1}, got.Metrics[0])
	require.Regexp(t, "^by_[a-z_]+$", got.Metrics[1].Name)
	require.Equal(t, reward.Metric{Name: "error_bound", Value: 0}, got.Metrics[2])
}

// Promise: without an answer there is no score.
func TestNoAnswer(t *testing.T) {
	got := score(&reward.Rollout{GroundTruth: reward.StringValue("4")})
	require.True(t, got.Invalid)
	require.Equal(t, "there is no answer: no message of the assistant has text", got.Reason)
}
