package interchange

import (
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// attempt is one trial: its documents, of which a task with several steps has one for each.
type attempt struct {
	home      string // the folder of a trial with steps; empty for others
	documents []string
}

// stepOfTrial returns the folder of the trial and the name of the step of a document; empty for a
// document that is not in TRIAL/steps/NAME/agent.
func stepOfTrial(document string) (home, step string) {
	agent := path.Dir(document)
	step = path.Dir(agent)
	if path.Base(agent) != agentFolder || path.Base(path.Dir(step)) != "steps" {
		return "", ""
	}
	return path.Dir(path.Dir(step)), path.Base(step)
}

// together joins the documents of the steps of a trial, in the order in which its result lists them.
func together(folder string, documents []string) (all []*attempt) {
	of := map[string]*attempt{}
	for _, at := range documents {
		home, _ := stepOfTrial(at)
		if before := of[home]; before != nil {
			before.documents = append(before.documents, at)
			continue
		}
		a := &attempt{documents: []string{at}}
		if result, err := trialResult(opener(filepath.Join(folder, filepath.FromSlash(home)))); home != "" && err == nil && result != nil {
			a.home, of[home] = home, a
		}
		all = append(all, a)
	}
	for _, a := range of {
		result, _ := trialResult(opener(filepath.Join(folder, filepath.FromSlash(a.home)))) // read before
		slices.SortStableFunc(a.documents, func(x, y string) int { return result.order(x) - result.order(y) })
	}
	return all
}

// order returns the number of the step of a document; those that the result does not list are last.
func (r *harborResult) order(document string) int {
	_, name := stepOfTrial(document)
	for i, s := range r.Steps {
		if s.Name == name || s.Short == name {
			return i
		}
	}
	return len(r.Steps)
}

// read returns the trajectory of a trial.
func (a *attempt) read(folder string, notes *Notes) (*rl.Trajectory, error) {
	if a.home == "" {
		return trial(filepath.Join(folder, filepath.FromSlash(path.Dir(a.documents[0]))), notes)
	}
	var whole *rl.Trajectory
	for _, at := range a.documents {
		open := opener(filepath.Join(folder, filepath.FromSlash(path.Dir(at))))
		text, err := open(trajectoryFile)
		if err != nil {
			return nil, err
		}
		t, err := ReadATIF(text, open, notes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		_, name := stepOfTrial(at)
		whole = join(whole, t, name, notes)
	}
	inOneOrder(whole)
	open := opener(filepath.Join(folder, filepath.FromSlash(a.home)))
	result, err := trialResult(open)
	if err != nil || result == nil {
		return whole, err
	}
	return whole, result.settle(whole, open, notes)
}

// join appends the trajectory of a step of a task to that of the steps before, which is nil for the
// first. The info of its steps has the name.
func join(whole, t *rl.Trajectory, name string, notes *Notes) *rl.Trajectory {
	if t.Metadata[MetaATIF] != nil {
		notes.Add("trial with several steps: what its documents say beyond messages, tokens and times is not kept")
		delete(t.Metadata, MetaATIF)
	}
	if whole == nil {
		whole = &rl.Trajectory{ID: t.ID}
	}
	from, before := len(whole.Messages), len(whole.Steps)
	whole.Messages = append(whole.Messages, t.Messages...)
	for _, s := range t.Steps {
		s.Index, s.MessageCount = s.Index+before, s.MessageCount+from
		if s.Info == nil {
			s.Info = map[string]json.RawMessage{}
		}
		s.Info["step"] = quoted(name)
		var parent int
		if n, _ := fmt.Sscanf(infoText(&s, "parent"), "step-%04d", &parent); n == 1 {
			s.Info["parent"] = quoted(fmt.Sprintf("step-%04d", parent+before))
		}
		whole.Steps = append(whole.Steps, s)
	}
	return whole
}

// inOneOrder removes the times of steps unless all have one and none decreases.
func inOneOrder(t *rl.Trajectory) {
	var last time.Time
	for _, s := range t.Steps {
		var at time.Time
		if strictjson.Unmarshal(s.Info["start"], &at) != nil || at.Before(last) {
			for i := range t.Steps {
				delete(t.Steps[i].Info, "start")
			}
			return
		}
		last = at
	}
}
