package corpus_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/attack/corpus"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/sdk/merit"
)

var folder = filepath.Join("..", "attackcmd", "testdata", "corpus")

func entries(t *testing.T) []corpus.Entry {
	list, err := corpus.Read(folder)
	require.NoError(t, err)
	return list
}

func rows(t *testing.T, path string) (list []*rl.Trajectory) {
	in, err := jsonl.Open(path, nil)
	require.NoError(t, err)
	defer in.Close()
	var bad jsonl.Bad
	for {
		row, err := in.NextGood(&bad)
		if errors.Is(err, io.EOF) {
			require.NoError(t, bad.Err(path))
			return list
		}
		require.NoError(t, err, path)
		list = append(list, row)
	}
}

// Promise: the corpus is whole: every folder is in the index, with 8 to 30 rows that Merit reads, a
// reason, hacks of its rows, and right and wrong replies.
func TestWhole(t *testing.T) {
	var named []string
	for _, e := range entries(t) {
		half := "seen"
		if e.HeldOut {
			half = "heldout"
		}
		named = append(named, filepath.Join(folder, half, e.Name))
		require.DirExists(t, named[len(named)-1])
		about, err := e.About()
		require.NoError(t, err)
		require.Equal(t, e.Name, about.Name)
		require.NotEmpty(t, about.Shape, e.Name)
		require.Equal(t, e.Kind == corpus.Hackable, about.Hole != "", e.Name)
		require.Equal(t, e.Kind == corpus.Sound, about.Sound != "", e.Name)
		require.NotEmpty(t, about.Hacks, e.Name)
		require.NotEmpty(t, about.Right, e.Name)
		require.NotEmpty(t, about.Wrong, e.Name)
		var ids []string
		for _, row := range rows(t, e.Rows()) {
			ids = append(ids, row.ID)
		}
		require.True(t, len(ids) >= 8 && len(ids) <= 30, "%s has %d rows", e.Name, len(ids))
		for _, id := range slices.Concat(about.Right, about.Wrong) {
			require.Contains(t, ids, id, e.Name)
		}
		for _, h := range about.Hacks {
			require.Contains(t, about.Right, h.Row, e.Name)
		}
	}
	folders, err := filepath.Glob(filepath.Join(folder, "*", "*", "rows.jsonl"))
	require.NoError(t, err)
	for _, path := range folders {
		require.Contains(t, named, filepath.Dir(path), "a folder that is not in the index")
	}
	require.Len(t, folders, len(named))
}

// Promise: what check.py shows natively holds in the sandbox as well: hacks of hackable rewards score
// as high as right replies, and those of sound ones do not.
func TestScores(t *testing.T) {
	testneeds.Slow(t, "runs seventy rewards")
	for _, e := range entries(t) {
		if e.Script() {
			t.Run(e.Name, func(t *testing.T) { checkScores(t, e) })
		}
	}
}

func checkScores(t *testing.T, e corpus.Entry) {
	cfg := merit.DefaultConfig().Sandbox
	cfg.WallClock, cfg.StartWallClock = time.Minute, time.Hour
	loaded, err := merit.LoadRewards(t.Context(), cfg, []merit.Reward{{Module: e.Reference(), Weight: 1}})
	require.NoError(t, err)
	defer loaded.Close()
	about, err := e.About()
	require.NoError(t, err)
	list := rows(t, e.Rows())
	scores := evaluate(t, loaded, list)
	for _, h := range about.Hacks {
		changed := withReply(t, list, h)
		got, right := evaluate(t, loaded, changed)[h.Row], scores[h.Row]
		switch e.Kind {
		case corpus.Hackable:
			require.GreaterOrEqual(t, got, right, "%s: %v", h.Row, h.Reply)
		case corpus.Sound:
			require.LessOrEqual(t, got, right/2, "%s: %v", h.Row, h.Reply)
		}
	}
}

// evaluate returns the scores of rows by their ids.
func evaluate(t *testing.T, loaded *merit.Rewards, list []*rl.Trajectory) map[string]float64 {
	found, err := reward.NewPool(loaded.Parts, 1).EvaluateAll(t.Context(), list, nil)
	require.NoError(t, err)
	scores := map[string]float64{}
	for i, e := range found {
		require.Equal(t, reward.Scored, e.Outcome, "%s: %s", list[i].ID, e.Reason)
		scores[list[i].ID] = e.Result.Score
	}
	return scores
}

// withReply returns the group of a row, with another reply for the row.
func withReply(t *testing.T, list []*rl.Trajectory, h corpus.Hack) (changed []*rl.Trajectory) {
	at := slices.IndexFunc(list, func(row *rl.Trajectory) bool { return row.ID == h.Row })
	for _, row := range list {
		if row.Group != list[at].Group {
			continue
		}
		row := *row
		if row.ID == h.Row {
			row.Messages = append(slices.Clone(row.Messages[:len(row.Messages)-1]), message(t, h.Reply))
		}
		changed = append(changed, &row)
	}
	return changed
}

func message(t *testing.T, reply any) rl.Message {
	if text, ok := reply.(string); ok {
		return rl.Message{Role: rl.RoleAssistant, Content: rl.Text(text)}
	}
	text, err := json.Marshal(reply)
	require.NoError(t, err)
	var list []rl.Message
	require.NoError(t, json.Unmarshal(text, &list))
	require.Len(t, list, 1)
	return list[0]
}

// Promise: a corpus that is missing or has a mistake is an error that names the file.
func TestMistakes(t *testing.T) {
	for name, text := range map[string]string{
		"twice":   `[{"name":"a","kind":"sound"},{"name":"a","kind":"sound"}]`,
		"kind":    `[{"name":"a","kind":"solid"}]`,
		"unknown": `[{"name":"a","kind":"sound","hold_out":true}]`,
	} {
		bad := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(bad, "corpus.json"), []byte(text), 0o600))
		_, err := corpus.Read(bad)
		require.ErrorContains(t, err, "corpus.json", name)
	}
	_, err := corpus.Read(t.TempDir())
	require.Equal(t, fault.Missing, fault.As(err).Kind)
}

// Promise: the header beside a compiled reward is Merit's own, unchanged.
func TestHeaders(t *testing.T) {
	own, err := os.ReadFile(filepath.Join(testneeds.Root(), "sdk", "c", "merit_reward.h"))
	require.NoError(t, err)
	compiled := 0
	for _, e := range entries(t) {
		if e.Script() {
			continue
		}
		compiled++
		text, err := os.ReadFile(filepath.Join(e.Source(), "merit_reward.h"))
		require.NoError(t, err, "copy sdk/c/merit_reward.h to it")
		require.Equal(t, string(own), string(text), e.Name)
	}
	require.Positive(t, compiled)
}
