package sweep

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/sdk/merit"
)

// firstTuningSeed is the first seed of tuning. The results use smaller ones.
const firstTuningSeed = 1001

// Tune chooses overrides for every setting on every task: each has the same choices, and the
// one with the highest mean of the curve wins, or the first of equal ones. The
// runs that choose have separate seeds, 1001, 1002, …, which no result uses.
type Tune struct {
	// Seeds is the number of seeds that each choice is trained with.
	Seeds int `yaml:"seeds" jsonschema:"minimum=1,maximum=1000"`
	// Share is the part of the budget that a tuning run plays: of train.env_steps, or of
	// train.iterations if there is no budget of steps.
	Share float64 `yaml:"share" jsonschema:"exclusiveMinimum=0,maximum=1"`
	// Set lists overrides that only tuning runs have.
	Set []string `yaml:"set"`
	// Measure is whose curve it is, one of [Measures]; empty means success.
	Measure string `yaml:"measure"`
	// Choices are what each setting can become.
	Choices []Choice `yaml:"choices"`
}

// Choice is one of the choices of [Tune].
type Choice struct {
	// Name is used in paths and tables.
	Name string `yaml:"name"`
	// Set lists overrides that apply after those of the setting.
	Set []string `yaml:"set"`
}

// Tuned is what tuning chose for a setting on a task.
type Tuned struct {
	Task    string     `json:"task"`
	Setting string     `json:"setting"`
	Choice  string     `json:"choice"`
	Means   []Estimate `json:"means"` // of the curve of each choice, over the tuning seeds
}

func (u *Tune) validate(p *fault.Problems, s *Study) {
	named(p, "tune.choices", names(u.Choices, func(x Choice) string { return x.Name }))
	p.OneOf("tune.measure", u.Measure, Measures()...)
	p.Check(s.mostSeeds() < firstTuningSeed, "seeds", s.mostSeeds(), "use at most 1000 seeds: tuning has the others")
}

// Tuning returns the runs that choose, or nothing if the study has no tune. Its order and
// errors are those of [Study.Plan].
func (s *Study) Tuning(overrides ...string) ([]Run, error) {
	if s.Tune == nil {
		return nil, nil
	}
	return s.each(firstTuningSeed, firstTuningSeed+s.Tune.Seeds-1, func(t Task, x Setting, seed int) (runs []Run, err error) {
		for _, c := range s.Tune.Choices {
			cfg, err := s.tuning(t, x, c, seed, overrides)
			if err != nil {
				return nil, err
			}
			runs = append(runs, Run{Task: t.Name, Setting: x.Name, Choice: c.Name, Seed: seed, Config: cfg})
		}
		return runs, nil
	})
}

// tuning returns the configuration of a tuning run, which plays a share of the budget.
func (s *Study) tuning(t Task, x Setting, c Choice, seed int, overrides []string) (*merit.Config, error) {
	set := slices.Concat(c.Set, s.Tune.Set, overrides)
	whole, err := s.config(t, x, seed, set)
	if err != nil {
		return nil, err
	}
	key, budget := "train.env_steps", whole.Train.EnvSteps
	if budget == 0 {
		key, budget = "train.iterations", whole.Train.Iterations
	}
	share := max(1, int(math.Round(s.Tune.Share*float64(budget))))
	return s.config(t, x, seed, append(set, fmt.Sprintf("%s=%d", key, share)))
}

// Choose returns the study with the choices that the runs of [Study.Tuning] in dir make. It
// returns an error of kind Missing if one of them is not finished. A study without tune is
// returned unchanged.
func (s *Study) Choose(tuning []Run, dir string) (*Study, error) {
	if s.Tune == nil {
		return s, nil
	}
	chosen := *s
	means, missing, err := s.Tune.means(tuning, dir)
	if err != nil {
		return nil, err
	}
	if missing > 0 {
		return nil, &fault.Error{
			Boundary: fault.Storage, Kind: fault.Missing, Where: dir, What: fmt.Sprintf("%d of %d tuning runs are not finished", missing, len(tuning)),
			Hint: "train the study before you write its page",
		}
	}
	chosen.tuned = map[[2]string]Choice{}
	for _, t := range s.Tasks {
		for _, x := range s.Settings {
			if s.skips(x, t) {
				continue
			}
			best, row := s.Tune.best(t.Name, x.Name, means)
			chosen.tuned[[2]string{t.Name, x.Name}] = best
			chosen.choices = append(chosen.choices, row)
		}
	}
	return &chosen, nil
}

// means returns the means of the curves of the finished runs, by task, setting and choice.
func (u *Tune) means(tuning []Run, dir string) (means map[[3]string][]float64, missing int, err error) {
	means = map[[3]string][]float64{}
	for _, r := range tuning {
		result, _, err := readRun(filepath.Join(dir, r.Name()), r)
		if errors.Is(err, fault.Of("", fault.Missing)) {
			missing++
			continue
		}
		if err != nil {
			return nil, 0, err
		}
		key, mean := [3]string{r.Task, r.Setting, r.Choice}, math.Inf(-1)
		if c := curveOf(result.metrics, u.Measure); len(c) > 0 { // else no validation had a score
			mean = c.Mean(float64(max(result.EnvSteps, 1)))
		}
		means[key] = append(means[key], mean)
	}
	return means, missing, nil
}

func (u *Tune) best(task, setting string, means map[[3]string][]float64) (best Choice, row Tuned) {
	row = Tuned{Task: task, Setting: setting}
	highest := math.Inf(-1)
	for i, c := range u.Choices {
		e := estimate(means[[3]string{task, setting, c.Name}])
		row.Means = append(row.Means, e)
		if i == 0 || e.Mean > highest {
			best, highest = c, e.Mean
		}
	}
	row.Choice = best.Name
	return best, row
}
