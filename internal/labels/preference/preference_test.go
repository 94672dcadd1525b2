package preference_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/labels/preference"
)

// mails writes a file with the answers of a policy to n mails, and returns its path.
func mails(t *testing.T, name string, n int, answer func(i int) string) string {
	t.Helper()
	var b strings.Builder
	for i := range n {
		line, err := json.Marshal(map[string]any{
			"id": fmt.Sprintf("%s-%d", name, i), "metadata": map[string]string{"policy": name}, "evaluation": map[string]any{"score": 0.5, "is_score_valid": true},
			"messages": []map[string]string{{"role": "user", "content": fmt.Sprintf("Mail %d: where is my parcel?", i)}, {"role": "assistant", "name": name, "content": answer(i)}},
		})
		require.NoError(t, err)
		b.Write(append(line, '\n'))
	}
	path := filepath.Join(t.TempDir(), name+".jsonl")
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	return path
}

func text(s string) func(int) string { return func(i int) string { return fmt.Sprintf("%s %d", s, i) } }

// kind says whether a side of a question is the friendly policy's.
func friendly(lines []preference.Line) bool { return strings.HasPrefix(lines[0].Text, "Dear") }

// prefer has a rater prefer the friendly answers, except where other says what else.
func prefer(t *testing.T, q *preference.Questions, rater string, other func(i int) preference.Choice) {
	t.Helper()
	for i, item := range q.Queue(rater, 1000).Items {
		c := preference.Left
		if friendly(item.Right) {
			c = preference.Right
		}
		if other != nil && other(i) != "" {
			c = other(i)
		}
		require.NoError(t, q.Say(rater, item.Pair, c))
	}
}

func open(t *testing.T, before, after, answers string) (*preference.Pairs, *preference.Questions) {
	t.Helper()
	p, err := preference.Read(before, after)
	require.NoError(t, err)
	q, err := preference.Open(p, answers, 1)
	require.NoError(t, err)
	q.Now = func() time.Time { return time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC) }
	return p, q
}

// Promise: nothing that a rater gets, and nothing in the file of answers, says which policy
// an answer is from or what it was worth; each policy is on the left about half of the time.
func TestBlind(t *testing.T) {
	old, trained := mails(t, "base", 200, text("Dispatched.")), mails(t, "trained", 200, text("Dear customer, it is on its way."))
	answers := filepath.Join(t.TempDir(), preference.File)
	_, q := open(t, old, trained, answers)
	left := 0
	for _, item := range q.Queue("ann", 1000).Items {
		if friendly(item.Left) {
			left++
		}
	}
	require.InDelta(t, 100, left, 25)
	shown, err := json.Marshal(q.Queue("ann", 1000))
	require.NoError(t, err)
	prefer(t, q, "ann", nil)
	stored, err := os.ReadFile(answers)
	require.NoError(t, err)
	for _, word := range []string{"base", "trained", "before", "after", "policy", "score", "0.5"} {
		require.NotContains(t, string(shown), word)
		require.NotContains(t, string(stored), word)
	}

	// With the policies in the other order, the questions are the same bytes but for their sides.
	_, other := open(t, trained, old, filepath.Join(t.TempDir(), "other.jsonl"))
	for i, item := range other.Queue("bob", 1000).Items {
		require.Equal(t, q.Queue("bob", 1000).Items[i].Pair, item.Pair)
	}
}

// Promise: a rater who returns continues, in another process too; answers are only added,
// and the newest of a rater counts; a line that a killed process left does not.
func TestAnswersStay(t *testing.T) {
	old, trained := mails(t, "old", 5, text("Dispatched.")), mails(t, "new", 5, text("Dear customer."))
	answers := filepath.Join(t.TempDir(), preference.File)
	p, q := open(t, old, trained, answers)
	first := q.Queue("ann", 2).Items
	require.NoError(t, q.Say("ann", first[0].Pair, preference.Skip))
	require.NoError(t, q.Say("ann", first[1].Pair, preference.Equal))
	before, err := os.ReadFile(answers)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(answers, append(before, `{"pair":"cut`...), 0o600))

	_, q = open(t, old, trained, answers)
	again := q.Queue("ann", 10)
	require.Equal(t, 2, again.Done)
	require.Len(t, again.Items, 3)
	prefer(t, q, "ann", nil)
	require.NoError(t, q.Say("ann", first[0].Pair, preference.Equal))
	now, err := os.ReadFile(answers)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(now), string(before)))
	all, err := preference.ReadAnswers(answers)
	require.NoError(t, err)
	require.Len(t, all, 6)
	r, err := preference.Measure(p, answers)
	require.NoError(t, err)
	require.Equal(t, []any{5, 2, 0, 0.8}, []any{r.Answers, r.Equal, r.Skipped, r.Preferred})
}

// Promise: the share counts ties half, whichever policy is named first; raters who disagree
// are reported; repeated starts do not make the interval narrower.
func TestMeasure(t *testing.T) {
	old, trained := mails(t, "old", 40, text("Dispatched.")), mails(t, "new", 40, text("Dear customer."))
	answers := filepath.Join(t.TempDir(), preference.File)
	p, q := open(t, old, trained, answers)
	prefer(t, q, "ann", func(i int) preference.Choice {
		if i < 10 {
			return preference.Equal
		}
		return ""
	})
	r, err := preference.Measure(p, answers)
	require.NoError(t, err)
	require.InDelta(t, 0.875, r.Preferred, 1e-12) // (30 + 10/2) / 40
	require.Contains(t, r.Sentences()[0], "preferred in 88 % [")
	require.Contains(t, r.Sentences()[0], "10 ties count half")

	prefer(t, q, "bob", nil)
	both, err := preference.Measure(p, answers)
	require.NoError(t, err)
	require.InDelta(t, 0.9375, both.Preferred, 1e-12)
	require.Equal(t, []any{80, 40, 40}, []any{both.Answers, both.Pairs, both.Starts})
	require.Len(t, both.Agreement, 1)
	require.Equal(t, []any{"ann", "bob", 40, 30}, []any{both.Agreement[0].A, both.Agreement[0].B, both.Agreement[0].Items, both.Agreement[0].Same})

	turned, err := preference.Find(trained, old, answers)
	require.NoError(t, err)
	require.InDelta(t, 1-both.Preferred, turned.Preferred, 1e-12)
	require.InDelta(t, 1-both.Interval[0], turned.Interval[1], 1e-9)
}

// Promise: both episodes of a pair have the same start; equal answers are not asked about, and counted.
func TestPairs(t *testing.T) {
	old := mails(t, "old", 6, text("Dispatched."))
	trained := mails(t, "new", 4, func(i int) string {
		return fmt.Sprintf(map[bool]string{true: "Dispatched. %d", false: "Dear customer. %d"}[i == 0], i)
	})
	p, err := preference.Read(old, trained)
	require.NoError(t, err)
	require.Equal(t, []int{3, 1, 2}, []int{len(p.All), p.Same, p.Alone})
}

// Promise: what cannot be compared is refused with its place, all of it at once.
func TestRefused(t *testing.T) {
	old := mails(t, "old", 2, text("Dispatched."))
	_, err := preference.Read(old, old)
	require.ErrorContains(t, err, "a preference needs two policies")
	_, err = preference.Read(old, mails(t, "other", 2, func(int) string { return "x" }))
	require.NoError(t, err)
	none := filepath.Join(t.TempDir(), "none.jsonl")
	require.NoError(t, os.WriteFile(none, []byte(`{"messages":[{"role":"user","content":"Else"},{"role":"assistant","content":"x"}]}`+"\n"), 0o600))
	_, err = preference.Read(old, none)
	require.ErrorContains(t, err, "no episode has the same start")

	answers := filepath.Join(t.TempDir(), preference.File)
	trained := mails(t, "new", 2, text("Dear customer."))
	p, q := open(t, old, trained, answers)
	require.ErrorContains(t, q.Say("ann", "nothing", preference.Left), "does not exist")
	item := q.Queue("ann", 1).Items[0]
	require.ErrorContains(t, q.Say("ann", item.Pair, "best"), "is not a choice")
	require.ErrorContains(t, q.Say(" ", item.Pair, preference.Left), "is not the name of a rater")
	prefer(t, q, "ann", nil)
	good, err := os.ReadFile(answers)
	require.NoError(t, err)

	require.NoError(t, os.WriteFile(answers, []byte("{}\nnothing\n"), 0o600))
	_, err = preference.ReadAnswers(answers)
	require.ErrorContains(t, err, "preferences.jsonl:1")
	require.ErrorContains(t, err, "preferences.jsonl:2: is not an answer")

	other := []byte(`{"messages":[]}`)
	require.NoError(t, os.WriteFile(answers, other, 0o600))
	_, err = preference.Open(p, answers, 1)
	require.ErrorContains(t, err, "preferences.jsonl:1: is not an answer")
	kept, err := os.ReadFile(answers)
	require.NoError(t, err)
	require.Equal(t, other, kept, "a file that is something else stays as it was")

	forged := strings.Replace(string(good), `"left":"`, `"left":"00`, 1)
	require.NoError(t, os.WriteFile(answers, []byte(forged), 0o600))
	_, err = preference.Measure(p, answers)
	require.ErrorContains(t, err, "preferences.jsonl:1: the episodes are not those of the pair")
}
