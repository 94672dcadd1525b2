package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sdk/reward"
	"github.com/stretchr/testify/require"
)

func rollout(answer, truth string) *reward.Rollout {
	return &reward.Rollout{
		Messages:    []reward.Message{{Role: reward.User, Content: "How many?"}, {Role: reward.Assistant, Content: answer}},
		GroundTruth: reward.StringValue(truth),
	}
}

// Promise: answers are read as people write them.
func TestScore(t *testing.T) {
	for _, c := range []struct {
		answer, truth string
		score         float64
	}{
		{"2+2=4\nA: 4", "4", 1},
		{"A: 5", "4", 0},
		{"so\n#### 1,234", "1234", 1},
		{"A: $1,234.50 per week.", "1234.5", 1},
		{"A: .5", "0.5", 1},
		{"A: -3 degrees", "-3", 1},
		{"A: -$3", "-3", 1},
		{"A: 3-4", "3", 1},
		{"A: 4.", "4", 1},
		{"A: 7\nNo, wait.\nA: 8", "8", 1},
		{"A: 8 \n\n", "8", 1},
		{"The answer is 8", "8", 0},
		{"A: eight", "8", 0},
		{"", "8", 0},
	} {
		require.Equal(t, c.score, score(rollout(c.answer, c.truth)).Score, "%q", c.answer)
	}
	require.True(t, score(rollout("A: 4", "four")).Invalid)
}

// Promise: the reward agrees with the data set's own grader on all answers.
func TestAgreesWithTheGrader(t *testing.T) {
	data, err := os.ReadFile(testneeds.Shared(t, "data", "gsm8k_model_solutions.jsonl"))
	require.NoError(t, err)
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	n := 0
	for ; lines.Scan(); n++ {
		var row struct {
			ID       string
			Messages []struct{ Role, Content string }
			Truth    string `json:"ground_truth"`
			Metadata struct {
				IsCorrect bool `json:"is_correct"`
			}
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &row))
		r := &reward.Rollout{GroundTruth: reward.StringValue(row.Truth)}
		for _, m := range row.Messages {
			r.Messages = append(r.Messages, reward.Message{Role: m.Role, Content: m.Content})
		}
		require.Equal(t, row.Metadata.IsCorrect, score(r).Score == 1, row.ID)
	}
	require.Equal(t, 1320, n)
}
