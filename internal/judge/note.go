package judge

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/merit-rl/merit/internal/base/strictjson"
)

// Note is what a judge stores with each trajectory that it judged. It leaves out tokens:
// servers such as llama.cpp count the same text differently from one request to the next, and
// the bytes of a run must not depend on that.
type Note struct {
	ID       string `json:"id"` // of the trajectory, in the answer
	Of       int    `json:"of"` // how many different trajectories were judged together
	Answer   string `json:"answer"`
	Attempts int    `json:"attempts"`
	Model    string `json:"model,omitempty"`
}

func (v verdict) note(g *group, place int) json.RawMessage {
	text, err := json.Marshal(Note{ID: id(place), Of: len(g.shown), Answer: v.answer.Text, Attempts: v.attempts, Model: v.answer.Model})
	if err != nil {
		panic(err) // strings and integers always marshal
	}
	return text
}

// ReadNote parses the note that a judge stored with a trajectory.
func ReadNote(text json.RawMessage) (Note, error) {
	var n Note
	if err := strictjson.Unmarshal(text, &n); err != nil {
		return n, fmt.Errorf("not a judge's note: %w", err)
	}
	return n, nil
}

// Place returns the index of the trajectory among those judged together, from 0.
func (n Note) Place() int {
	i, _ := strconv.Atoi(n.ID) // ids are 1, 2, 3 …
	return i - 1
}
