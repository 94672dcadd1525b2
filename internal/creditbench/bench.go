package creditbench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/stats"
	"github.com/merit-rl/merit/internal/base/cpus"
)

// Plan says what to measure.
type Plan struct {
	Estimators []Estimator
	LeftOut    []LeftOut // estimators that the worlds do not suit
	Worlds     []string  // empty means all
	Members    []int     // sizes of a group
	Seeds      int
}

// LeftOut is an estimator that is not measured.
type LeftOut struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// Default is every estimator that the worlds suit, with the settings of a new configuration,
// in every world, in groups of 4, 8 and 16, with 30 seeds.
func Default() Plan {
	p := Plan{Members: []int{4, 8, 16}, Seeds: 30}
	w := Worlds()[0]
	r := rand.New(rand.NewPCG(1, 1))
	policy := w.random(r)
	played := w.sample(policy, w.Solve(policy), 1, 2, r)
	for _, e := range advantage.Estimators() {
		cfg, name := advantage.Default(), e.Name
		cfg.Estimator = name
		if e.Branches {
			p.LeftOut = append(p.LeftOut, LeftOut{name, "it compares branches; merit advantages measure --branches measures it"})
			continue
		}
		if err := advantage.Estimate(cfg, &played.rows, new(advantage.Result)); err != nil {
			p.LeftOut = append(p.LeftOut, LeftOut{name, err.Error()})
			continue
		}
		p.Estimators = append(p.Estimators, Estimator{Name: name, Config: cfg})
	}
	return p
}

// Value is a mean over seeds with its 95 % interval by Student's t. Seeds without a value do
// not count.
type Value struct {
	Seeds int     `json:"seeds"`
	Mean  float64 `json:"mean"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Row is what one estimator does in one world.
type Row struct {
	World     string `json:"world"`
	Estimator string `json:"estimator"`
	Members   int    `json:"members"`
	Sign      Value  `json:"sign"`
	Rank      Value  `json:"rank"`
	Bias      Value  `json:"bias"`
	Noise     Value  `json:"noise"`
	Area      Value  `json:"area"`
	Last      Value  `json:"last"`

	areas []float64 // by seed, to compare estimators in pairs
}

// Results holds every row: by world, then size of a group, then estimator.
type Results struct {
	Seeds   int      `json:"seeds"`
	Members []int    `json:"members"`
	Worlds  []*World `json:"-"`
	Rows    []Row    `json:"rows"`

	Programs []reward.Info `json:"programs,omitempty"` // of the estimators that are programs
	LeftOut  []LeftOut     `json:"left_out,omitempty"`
}

// unit is one world with one size of groups and one seed, for all estimators.
type unit struct {
	world   *World
	members int
	seed    int
}

// found is what a unit finds for an estimator.
type found struct {
	Quality
	Learned
}

// Run measures everything. The numbers depend on the plan only, not on how many CPUs work.
// Done receives the number of finished units, one call at a time.
func Run(ctx context.Context, p Plan, done func(n, of int)) (*Results, error) {
	worlds, err := chosen(p.Worlds)
	if err != nil {
		return nil, err
	}
	var units []unit
	for _, w := range worlds {
		for _, members := range p.Members {
			for seed := range p.Seeds {
				units = append(units, unit{w, members, seed})
			}
		}
	}
	if err := p.try(ctx, units); err != nil {
		return nil, err
	}
	all, finished := make([][]found, len(units)), make(chan struct{}, len(units))
	many, ctx := errgroup.WithContext(ctx)
	many.SetLimit(cpus.Count() + 1)
	many.Go(func() error {
		for n := range units {
			select {
			case <-finished:
				done(n+1, len(units))
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	for i, u := range units {
		many.Go(func() (err error) {
			if err := ctx.Err(); err != nil {
				return err
			}
			all[i], err = u.run(ctx, p.Estimators)
			finished <- struct{}{}
			return err
		})
	}
	if err := many.Wait(); err != nil {
		return nil, err
	}
	return &Results{Seeds: p.Seeds, Members: p.Members, Worlds: worlds, Rows: p.rows(units, all), Programs: p.programs(), LeftOut: p.LeftOut}, nil
}

// try estimates one batch with each program, so that a mistake shows at once and alone.
func (p Plan) try(ctx context.Context, units []unit) error {
	var programs []Estimator
	for _, e := range p.Estimators {
		if e.Program != nil {
			programs = append(programs, e)
		}
	}
	if len(programs) == 0 || len(units) == 0 {
		return nil
	}
	u, r := units[0], units[0].random(0)
	policy := u.world.random(r)
	played := u.world.sample(policy, u.world.Solve(policy), 1, u.members, r)
	var problems []error
	for _, e := range programs {
		_, err := e.estimate(ctx, &played.rows, nil)
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

func (p Plan) programs() (all []reward.Info) {
	for _, e := range p.Estimators {
		if e.Program != nil {
			info := e.Program.Info()
			info.Name = e.Name
			all = append(all, info)
		}
	}
	return all
}

// run measures all estimators on the same episodes, and trains with each.
func (u unit) run(ctx context.Context, estimators []Estimator) ([]found, error) {
	qualities, err := u.world.measure(ctx, estimators, u.members, u.random(0))
	if err != nil {
		return nil, err
	}
	out := make([]found, len(estimators))
	for i, e := range estimators {
		learned, err := u.world.learn(ctx, e, u.members, u.random(1))
		if err != nil {
			return nil, err
		}
		out[i] = found{qualities[i], learned}
	}
	return out, nil
}

// random returns the unit's stream of random numbers for a purpose.
func (u unit) random(purpose uint64) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(u.seed)<<8|purpose, uint64(u.members)))
}

func chosen(names []string) ([]*World, error) {
	all := Worlds()
	if len(names) == 0 {
		return all, nil
	}
	var out []*World
	var known []string
	for _, w := range all {
		known = append(known, w.Name)
		if slices.Contains(names, w.Name) {
			out = append(out, w)
		}
	}
	var problems []error
	for _, name := range names {
		if !slices.Contains(known, name) {
			problems = append(problems, &fault.Error{Boundary: fault.CLI, Kind: fault.Refused, Where: "--world", What: fmt.Sprintf("%q is not a world", name), Allowed: known, Hint: "use one of " + strings.Join(known, ", ")})
		}
	}
	return out, errors.Join(problems...)
}

// rows summarizes the seeds.
func (p Plan) rows(units []unit, all [][]found) (rows []Row) {
	for at := 0; at < len(units); at += p.Seeds {
		for e, estimator := range p.Estimators {
			of := func(get func(found) float64) (x []float64) {
				for seed := range p.Seeds {
					x = append(x, get(all[at+seed][e]))
				}
				return x
			}
			areas := of(func(f found) float64 { return f.Area })
			rows = append(rows, Row{
				World: units[at].world.Name, Estimator: estimator.Name, Members: units[at].members,
				Sign: over(of(func(f found) float64 { return f.Sign })), Rank: over(of(func(f found) float64 { return f.Rank })),
				Bias: over(of(func(f found) float64 { return f.Bias })), Noise: over(of(func(f found) float64 { return f.Noise })),
				Area: over(areas), Last: over(of(func(f found) float64 { return f.Last })), areas: areas,
			})
		}
	}
	return rows
}

func over(x []float64) Value {
	x = slices.DeleteFunc(x, math.IsNaN)
	if len(x) == 0 {
		return Value{}
	}
	mean, low, high := stats.Mean(x)
	return Value{len(x), mean, low, high}
}

// Named returns the named estimators, each once, or all if names is empty. The error joins
// all names that are unknown, also those of the plan's worlds.
func (p Plan) Named(names []string) ([]Estimator, error) {
	_, err := chosen(p.Worlds)
	if len(names) == 0 {
		return p.Estimators, err
	}
	var out []Estimator
	problems := []error{err}
	for i, name := range names {
		switch at := slices.IndexFunc(p.Estimators, func(e Estimator) bool { return e.Name == name }); {
		case slices.Contains(names[:i], name):
		case at < 0:
			problems = append(problems, p.unknown(name))
		default:
			out = append(out, p.Estimators[at])
		}
	}
	return out, errors.Join(problems...)
}

// unknown is the error of a name that is not an estimator, or one that is left out.
func (p Plan) unknown(name string) error {
	var known []string
	for _, e := range p.Estimators {
		known = append(known, e.Name)
	}
	what, hint := fmt.Sprintf("%q is not an estimator", name), "use one of "+strings.Join(known, ", ")
	if i := slices.IndexFunc(p.LeftOut, func(x LeftOut) bool { return x.Name == name }); i >= 0 {
		what = fmt.Sprintf("%s cannot be measured in these worlds: %s", name, p.LeftOut[i].Why)
	} else if strings.ContainsAny(name, "./") {
		hint = "name a file with --file"
	}
	return &fault.Error{Boundary: fault.CLI, Kind: fault.Refused, Where: "--estimator", What: what, Allowed: known, Hint: hint}
}
