package trial

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/box"
)

// Promise: a verifier's reward is read as Harbor reads it, and everything that is not a finite
// number is a failure with Harbor's name, never 0.
func TestRewards(t *testing.T) {
	for _, c := range []struct {
		text, json string // "-" for no file
		want       map[string]float64
		failure    string
	}{
		{"1\n", "-", map[string]float64{"reward": 1}, ""},
		{" 0.25 ", "-", map[string]float64{"reward": 0.25}, ""},
		{"-1e-3", "-", map[string]float64{"reward": -0.001}, ""},
		{"1_0", "-", map[string]float64{"reward": 10}, ""},
		{"1", `{"reward": 0}`, map[string]float64{"reward": 1}, ""}, // the text wins
		{"-", `{"reward": 0.5, "style": 2}`, map[string]float64{"reward": 0.5, "style": 2}, ""},
		{"-", "-", nil, NotFound},
		{"", "-", nil, Empty},
		{"", `{"reward": 1}`, nil, Empty}, // an empty text is not passed over
		{"-", "", nil, Empty},
		{"\n", "-", nil, Unreadable},
		{"yes", "-", nil, Unreadable},
		{"0x10", "-", nil, Unreadable},
		{"nan", "-", nil, Unreadable},
		{"inf", "-", nil, Unreadable},
		{"1 1", "-", nil, Unreadable},
		{"-", "{}", nil, Unreadable},
		{"-", "1", nil, Unreadable},
		{"-", `{"reward": "1"} x`, nil, Unreadable},
		{"-", `{"reward": true}`, nil, Unreadable},
		{"-", `{"reward": null}`, nil, Unreadable},
		{"-", `{"reward": {"a": 1}}`, nil, Unreadable},
		{"-", `{"reward": 1e999}`, nil, Unreadable},
		{"-", `{"reward": NaN}`, nil, Unreadable},
		{"-", `{"reward": 1} {"reward": 1}`, nil, Unreadable},
	} {
		var files []box.File
		if c.text != "-" {
			files = append(files, box.File{Path: "/logs/verifier/reward.txt", Data: []byte(c.text)})
		}
		if c.json != "-" {
			files = append(files, box.File{Path: "/logs/verifier/reward.json", Data: []byte(c.json)})
		}
		got, failed := Rewards(files)
		if c.failure == "" {
			require.Nil(t, failed, "%q %q", c.text, c.json)
		} else {
			require.NotNil(t, failed, "%q %q: %v", c.text, c.json, got)
			require.Equal(t, c.failure, failed.Name, "%q %q", c.text, c.json)
		}
		require.Equal(t, c.want, got, "%q %q", c.text, c.json)
	}
}

// Promise: of several rewards, the one called reward counts, or the one that is named; without
// either there is no reward.
func TestMainReward(t *testing.T) {
	for _, c := range []struct {
		rewards map[string]float64
		name    string
		want    float64
		fails   bool
	}{
		{map[string]float64{"reward": 1, "b": 2}, "", 1, false}, {map[string]float64{"b": 2}, "", 2, false}, {map[string]float64{"reward": 1, "b": 2}, "b", 2, false},
		{map[string]float64{"a": 1, "b": 2}, "", 0, true}, {map[string]float64{"a": 1}, "b", 0, true}, {nil, "", 0, true},
	} {
		got, failed := Main(c.rewards, c.name)
		require.Equal(t, c.fails, failed != nil, c)
		require.Equal(t, c.want, got, c)
	}
}

// Promise: the rewards of steps become one by the strategy of the task; a missing one counts
// as 0 in a mean.
func TestCombine(t *testing.T) {
	steps := []map[string]float64{{"reward": 1, "a": 1}, {"reward": 0}}
	require.Equal(t, map[string]float64{"reward": 0.5, "a": 0.5}, Combine("", steps))
	require.Equal(t, map[string]float64{"reward": 0.5, "a": 0.5}, Combine("mean", steps))
	require.Equal(t, map[string]float64{"reward": 0}, Combine("final", steps))
	require.Nil(t, Combine("mean", nil))
}
