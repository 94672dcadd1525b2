package trial

import (
	"errors"

	"github.com/merit-rl/merit/internal/attack/reply"
)

// State is what a target learned while it was attacked.
type State struct {
	Best  float64   `json:"best"`
	Cases []learned `json:"cases"`
}

type learned struct {
	Oracle reply.Reply `json:"oracle"`
	Right  float64     `json:"right"`
	Known  bool        `json:"known"`
}

// State returns what the target has learned.
func (t *Target) State() State {
	s := State{Best: t.best}
	for _, c := range t.Cases {
		s.Cases = append(s.Cases, learned{c.Oracle, c.Right, c.Known})
	}
	return s
}

// Restore sets what another target for the same reward and rows has learned.
func (t *Target) Restore(s State) error {
	if len(s.Cases) != len(t.Cases) {
		return errors.New("the state has another number of tasks")
	}
	t.best = s.Best
	for i, c := range t.Cases {
		c.Oracle, c.Right, c.Known = s.Cases[i].Oracle, s.Cases[i].Right, s.Cases[i].Known
	}
	return nil
}
