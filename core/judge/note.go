package judge

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Note is what a judge keeps with each trajectory that it was asked about.
type Note struct {
	ID       string `json:"id"` // of the trajectory, in the answer
	Of       int    `json:"of"` // how many different trajectories were judged together
	Answer   string `json:"answer"`
	Attempts int    `json:"attempts"`
	Model    string `json:"model,omitempty"`
	Usage    Usage  `json:"usage"`
}

func (v verdict) note(g *group, place int) json.RawMessage {
	text, err := json.Marshal(Note{
		ID: id(place), Of: len(g.shown), Answer: v.answer.Text, Attempts: v.attempts, Model: v.answer.Model, Usage: v.answer.Usage,
	})
	if err != nil { // a cost that is no number
		return json.RawMessage(`null`)
	}
	return text
}

// ReadNote reads what a judge has kept with a trajectory.
func ReadNote(text json.RawMessage) (Note, error) {
	var n Note
	if err := json.Unmarshal(text, &n); err != nil {
		return n, fmt.Errorf("not a judge's note: %w", err)
	}
	return n, nil
}

// Place is where the trajectory stood among those that were judged together,
// from 0.
func (n Note) Place() int {
	i, _ := strconv.Atoi(n.ID) // ids are 1, 2, 3 …
	return i - 1
}
