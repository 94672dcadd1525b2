package sweep

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
)

// ResultsFile is the file of the results in a study's folder.
const ResultsFile = "study.json"

// Results are the results of a study. They contain no times, so that the same runs give
// the same bytes.
type Results struct {
	Title   string        `json:"title"`
	Planned int           `json:"planned"` // runs
	Tasks   []TaskResults `json:"tasks"`
	Panels  []PanelResult `json:"panels"`
	Choices []string      `json:"choices,omitempty"` // the names of what tuning chose from
	Tuned   []Tuned       `json:"tuned,omitempty"`   // what it chose
	Missing []string      `json:"missing,omitempty"` // runs that are not finished
}

// TaskResults are the results of a task's runs.
type TaskResults struct {
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	Budgets []int    `json:"budgets"` // environment steps; the last one bounds the curves
	Digests []string `json:"digests"` // of environment and rewards, the same for all runs
	Runs    []Result `json:"runs"`
}

// budget returns the number of steps at which the curves of t end.
func (t TaskResults) budget() float64 { return float64(t.Budgets[len(t.Budgets)-1]) }

// Result is the result of one run.
type Result struct {
	Setting    string  `json:"setting"`
	Seed       int     `json:"seed"`
	Run        string  `json:"run"` // its directory in that of the study
	Iterations int     `json:"iterations"`
	EnvSteps   uint64  `json:"env_steps"`
	Untrained  float64 `json:"untrained"` // success on the test split
	Test       float64 `json:"test"`      // … of the best checkpoint, sampling
	Greedy     float64 `json:"greedy"`    // … taking the likeliest action
	Success    Curve   `json:"success"`   // of validations

	metrics []run.Iteration
}

// Read collects the finished runs of plan in dir and compares them. It returns an error
// if runs of the same task used different environments or rewards.
func Read(s *Study, plan []Run, dir string) (*Results, error) {
	r := &Results{Title: s.Title, Planned: len(plan), Tuned: s.choices}
	if s.Tune != nil {
		r.Choices = names(s.Tune.Choices, func(x Choice) string { return x.Name })
	}
	var problems []error
	for _, t := range s.Tasks {
		task := TaskResults{Name: t.Name, Title: t.Title, Budgets: t.Budgets}
		for _, x := range s.Settings {
			for _, planned := range plan {
				if planned.Task != t.Name || planned.Setting != x.Name {
					continue
				}
				result, digests, err := readRun(filepath.Join(dir, planned.Name()), planned)
				switch {
				case errors.Is(err, fault.Of("", fault.Missing)):
					r.Missing = append(r.Missing, filepath.ToSlash(planned.Name()))
					continue
				case err == nil && task.Digests != nil && !slices.Equal(task.Digests, digests):
					err = differing(planned, task.Digests, digests)
				}
				task.Digests = digests
				task.Runs = append(task.Runs, result)
				problems = append(problems, err)
			}
		}
		if task.Budgets == nil {
			task.Budgets = budgets(plan, task)
		}
		r.Tasks = append(r.Tasks, task)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	for _, p := range s.Panels {
		r.Panels = append(r.Panels, s.compare(p, r.Tasks))
	}
	for _, p := range r.Panels {
		adjust(p)
	}
	return r, nil
}

func readRun(dir string, planned Run) (r Result, digests []string, err error) {
	if done, err := finished(dir, planned.Config); err != nil {
		return r, nil, err
	} else if !done {
		return r, nil, fault.Of("", fault.Missing)
	}
	summary, err := run.ReadSummary(dir)
	if err != nil {
		return r, nil, err
	}
	manifest, err := run.ReadManifest(dir)
	if err != nil {
		return r, nil, err
	}
	for _, p := range manifest.Plugins {
		digests = append(digests, strings.TrimSpace(p.Name+" "+p.Digest))
	}
	for _, m := range manifest.Rewards {
		digests = append(digests, strings.TrimSpace(m.Name+" "+m.Digest))
	}
	r = Result{
		Setting: planned.Setting, Seed: planned.Seed, Run: filepath.ToSlash(planned.Name()), Iterations: summary.Iterations, EnvSteps: summary.EnvSteps,
		Untrained: summary.Baseline.Success, Test: summary.Trained.Success,
	}
	if g := summary.Trained.Greedy; g != nil {
		r.Greedy = g.Success
	}
	if r.metrics, err = run.ReadMetrics(dir); err != nil {
		return r, nil, err
	}
	r.Success = curveOf(r.metrics, Success)
	return r, digests, nil
}

func differing(r Run, before, now []string) error {
	return &fault.Error{
		Boundary: fault.Storage, Kind: fault.Refused, Where: r.Name(),
		What: fmt.Sprintf("used other environment or reward code than the runs before it: %s, not %s", strings.Join(now, ", "), strings.Join(before, ", ")),
		Hint: "remove the directories of the older runs and run the command again to train them again",
	}
}

// budgets returns the budgets of a task that sets none: a quarter, a half and all of the
// steps that every run has done.
func budgets(plan []Run, t TaskResults) []int {
	whole := 0
	for _, r := range plan {
		if r.Task == t.Name {
			whole = r.Config.Train.EnvSteps
		}
	}
	if whole == 0 {
		for i, r := range t.Runs {
			if i == 0 || int(r.EnvSteps) < whole {
				whole = int(r.EnvSteps)
			}
		}
	}
	whole = max(whole, 4)
	return []int{whole / 4, whole / 2, whole}
}

// Write writes the results into the study's folder.
func (r *Results) Write(dir string) error {
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return &fault.Error{Boundary: fault.Storage, Kind: fault.Internal, What: "cannot encode the results", Err: err, Hint: "please report it"}
	}
	return WriteFile(filepath.Join(dir, ResultsFile), append(data, '\n'))
}

// WriteFile replaces the file at path in one step.
func WriteFile(path string, data []byte) error {
	if err := renameio.WriteFile(path, data, 0o644, renameio.WithTempDir(filepath.Dir(path))); err != nil {
		return &fault.Error{Boundary: fault.Storage, Kind: fault.Invalid, Where: path, What: "cannot be written", Err: err, Hint: "check the disk and the path"}
	}
	return nil
}
