package sweep

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/sdk/merit"
)

// Run is one training of a study.
type Run struct {
	Task, Setting string
	Choice        string // of a tuning run
	Seed          int
	Config        *merit.Config
}

// Name returns the path of the run in the study's folder.
func (r Run) Name() string {
	seed := fmt.Sprintf("seed-%d", r.Seed)
	if r.Choice != "" {
		return filepath.Join("tuning", r.Task, r.Setting, r.Choice, seed)
	}
	return filepath.Join("runs", r.Task, r.Setting, seed)
}

// Label names the run on the terminal.
func (r Run) Label() string {
	words := []string{r.Task, r.Setting, r.Choice, strconv.Itoa(r.Seed)}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// Plan returns every run of the study that the results use, with its configuration after all
// overrides. It is sorted by seed, so that an unfinished study has as many seeds of one
// setting as of another. The error joins every problem of every configuration, each once.
// A study with tune must be one that [Study.Choose] returned.
func (s *Study) Plan(overrides ...string) ([]Run, error) {
	return s.each(1, s.mostSeeds(), func(t Task, x Setting, seed int) ([]Run, error) {
		if seed > s.seeds(x) {
			return nil, nil
		}
		cfg, err := s.config(t, x, seed, slices.Concat(s.tuned[[2]string{t.Name, x.Name}].Set, overrides))
		if err == nil {
			err = reaches(t, cfg)
		}
		return []Run{{Task: t.Name, Setting: x.Name, Seed: seed, Config: cfg}}, err
	})
}

// each joins the runs of every seed, task and setting, and every problem once.
func (s *Study) each(first, last int, runs func(Task, Setting, int) ([]Run, error)) (plan []Run, err error) {
	var problems []error
	seen := map[string]bool{}
	for seed := first; seed <= last; seed++ {
		for _, t := range s.Tasks {
			for _, x := range s.Settings {
				if s.skips(x, t) {
					continue
				}
				more, err := runs(t, x, seed)
				if err == nil {
					plan = append(plan, more...)
				} else if !seen[err.Error()] {
					seen[err.Error()] = true
					problems = append(problems, err)
				}
			}
		}
	}
	return plan, errors.Join(problems...)
}

// skips reports whether a setting is not trained on a task.
func (s *Study) skips(x Setting, t Task) bool {
	return len(x.Tasks) > 0 && !slices.Contains(x.Tasks, t.Name)
}

// reaches rejects a budget that no run reaches: a table would show the last validation
// instead.
func reaches(t Task, cfg *merit.Config) error {
	steps := cfg.Train.EnvSteps
	if len(t.Budgets) == 0 || steps == 0 || t.Budgets[len(t.Budgets)-1] <= steps {
		return nil
	}
	return &fault.Error{
		Boundary: fault.Config, Kind: fault.Invalid, Where: "task " + t.Name,
		What: fmt.Sprintf("budgets: %d steps exceed train.env_steps, %d", t.Budgets[len(t.Budgets)-1], steps),
		Hint: "raise train.env_steps, or remove the budget",
	}
}

func (s *Study) seeds(x Setting) int {
	if x.Seeds > 0 {
		return x.Seeds
	}
	return s.Seeds
}

func (s *Study) mostSeeds() int {
	most := s.Seeds
	for _, x := range s.Settings {
		most = max(most, x.Seeds)
	}
	return most
}

func (s *Study) config(t Task, x Setting, seed int, overrides []string) (*merit.Config, error) {
	return merit.LoadPartial(filepath.Join(s.dir, t.Config), slices.Concat(s.Set, t.Set, x.Set, overrides, []string{fmt.Sprintf("seed=%d", seed)})...)
}
