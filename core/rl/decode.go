package rl

import (
	"errors"
	"fmt"
	"strings"

	"github.com/merit-rl/merit/internal/base/strictjson"
)

// DecodeTrajectory reads a trajectory from its JSON. It does not read unknown
// fields (package jsonl keeps them), but checks everything that the pipeline
// relies on: see Trajectory.Check. A trajectory without an id is called line-N
// after its number in the file.
func DecodeTrajectory(text []byte, number int) (*Trajectory, error) {
	t := new(Trajectory)
	if err := strictjson.Unmarshal(text, t); err != nil {
		return nil, undecoded(err)
	}
	if t.ID == "" {
		t.ID, t.Unnamed = fmt.Sprintf("line-%d", number), true
	}
	return t, t.Check()
}

// undecoded returns why text is not a trajectory.
func undecoded(err error) error {
	var wrong *strictjson.Error
	switch errors.As(err, &wrong); {
	case wrong == nil || wrong.Path == "" && wrong.Kind == "":
		return fmt.Errorf("not a trajectory: %w", err)
	case wrong.Path == "":
		return fmt.Errorf("not a trajectory: %s instead of an object", wrong.Kind)
	case wrong.Kind == "":
		return err
	}
	field, _, _ := strings.Cut(wrong.Path, ".")
	field, _, _ = strings.Cut(field, "[")
	return &WrongType{Field: field, Path: wrong.Path, problem: wrong.What}
}

// WrongType is the error of a field whose JSON has a wrong type.
type WrongType struct {
	Field   string // of the trajectory
	Path    string // of the value
	problem string
}

// Number reports whether the value is a number.
func (w *WrongType) Number() bool {
	return strings.HasSuffix(w.problem, "a number") || strings.Contains(w.problem, "the number")
}

// Error names the member in the field, and the type that it has.
func (w *WrongType) Error() string { return w.Path + " " + w.problem }

// Check reports everything that makes t unfit for the pipeline, as one error:
// there must be a conversation (unless the episode was lost to a fault), each
// message needs a role, and each step must point to the assistant message that
// carries its action, in order.
func (t *Trajectory) Check() error {
	var problems []string
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if len(t.Messages) == 0 && t.StopReason != StopError {
		wrong("messages is empty")
	}
	for i, m := range t.Messages {
		if m.Role == "" {
			wrong("messages[%d] has no role", i)
		}
	}
	before := -1
	for i, s := range t.Steps {
		at := s.MessageCount
		switch {
		case s.Index != i:
			wrong("steps[%d].index is %d", i, s.Index)
		case at <= before || at >= len(t.Messages):
			wrong("steps[%d].message_count is %d; it must be above %d and below the number of messages, %d", i, at, before, len(t.Messages))
		case t.Messages[at].Role != RoleAssistant:
			wrong("steps[%d].message_count is %d, but messages[%d] has the role %q", i, at, at, t.Messages[at].Role)
		}
		before = max(before, at)
	}
	const most = 5
	if n := len(problems); n > most {
		problems = append(problems[:most], fmt.Sprintf("and %d more problems", n-most))
	}
	if len(problems) > 0 {
		return errors.New(strings.Join(problems, "; "))
	}
	return nil
}
