package prompt

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
)

// Settings configures a search.
type Settings struct {
	Config
	Seed    rl.Seed
	Start   string     // the prompt to improve
	Tasks   []*rl.Task // tasks available to the search
	HeldOut []*rl.Task // tasks that are played after the search

	Model    Model // plays the tasks
	Sampling Sampling
	Editor   Model // criticizes and rewrites
	Editing  Sampling
	Identity string // of models and rewards; journal entries are valid only for these

	Score    func(context.Context, *rl.Trajectory) reward.Evaluation // safe for concurrent use
	Budget   Budget
	Parallel int // concurrent calls, at least 1; it changes no result
	Journal  Journal
	Progress func(Progress) // may be nil; calls are serialized
}

// Progress is the progress of a search.
type Progress struct {
	Round, Rounds int    // Round is 0 after the last one
	Phase         string // current activity, in a word or two
	Done, Of      int    // calls in this phase
	Spent         Spent
	Best          *float64 // mean score of the best candidate in the last selection; nil before the first
}

// Spent counts calls of models, including those of an earlier process.
type Spent struct {
	Calls int `json:"calls"`
	Usage
}

// Labels of seeds.
const (
	seedPlay = iota
	seedOrder
	seedCritique
	seedEdit
	seedParaphrase
	seedChildren
	seedFinal
	seedHeldOut
	seedBootstrap
)

// search is a search in progress.
type search struct {
	Settings
	caller
	all     []*candidate
	beam    []*candidate
	known   map[string]bool // texts
	rounds  []Round
	round   int
	best    *float64
	digests map[*rl.Task]string
}

// Run searches, then plays the held-out tasks and compares the chosen prompt. The result is a
// function of s without Parallel, Journal and Progress, and of the answers of models and
// rewards. After an error, another Run with the same settings and journal resumes.
func Run(ctx context.Context, s Settings) (*Result, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	o := &search{Settings: s, known: map[string]bool{}, digests: map[*rl.Task]string{}}
	o.caller = caller{settings: &o.Settings, reserve: o.reserved()}
	for _, t := range slices.Concat(s.Tasks, s.HeldOut) {
		d, err := digest(t)
		if err != nil {
			return nil, &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, Where: "task " + t.ID, What: "the task cannot be written as JSON", Err: err, Hint: "correct the task"}
		}
		o.digests[t] = d
	}
	o.beam = []*candidate{o.add(Candidate{Text: s.Start, How: Start, Parent: -1})}
	stop, err := o.search(ctx)
	if err != nil {
		return nil, err
	}
	o.round = 0
	chosen, err := o.choose(ctx)
	if err != nil {
		return nil, err
	}
	points, err := o.validate(ctx, chosen)
	if err != nil {
		return nil, err
	}
	return o.result(stop, chosen, points), nil
}

// search plays rounds until there is a reason to stop.
func (s *search) search(ctx context.Context) (Stop, error) {
	idle := 0
	for s.round = 1; s.round <= s.Rounds; s.round++ {
		before := s.beam[0]
		err := s.turn(ctx)
		if errors.Is(err, errBudget) {
			return StopBudget, nil
		}
		if err != nil {
			return "", err
		}
		if idle++; s.beam[0] != before {
			idle = 0
		}
		if s.Patience > 0 && idle >= s.Patience {
			return StopPatience, nil
		}
	}
	return StopRounds, nil
}

// add adds c to the candidates.
func (s *search) add(c Candidate) *candidate {
	c.ID = len(s.all)
	s.known[c.Text] = true
	s.all = append(s.all, &candidate{Candidate: c, train: map[int]worth{}, held: map[int]worth{}})
	return s.all[c.ID]
}

// Check returns all problems that prevent the search.
func (s *Settings) Check() error {
	problems := fault.Problems(s.Config.Validate())
	if why := s.CheckText(s.Start); why != "" {
		problems.Invalid("prompt", why, "correct the prompt that the search starts from")
	}
	problems.Check(len(s.Tasks) >= 2, "tasks.train", len(s.Tasks), "give at least 2 tasks to learn from")
	problems.Check(len(s.HeldOut) >= 2, "tasks.held_out", len(s.HeldOut), "hold out at least 2 tasks; an interval worth having needs 50 or more")
	problems = append(problems, fault.Validate(&s.Budget)...)
	if need := s.reserved() + s.minibatch() + 1; s.Budget.Calls > 0 && s.Budget.Calls < need {
		problems.Invalid("budget.calls", fmt.Sprintf("%d calls are fewer than the %d of the smallest search: %d for the final choice and the held-out comparison, the rest for the first minibatch", s.Budget.Calls, need, s.reserved()),
			"raise it, or lower select.final, beam or the number of held-out tasks")
	}
	return errors.Join(problems...)
}

func (s *Settings) minibatch() int { return min(s.Minibatch, len(s.Tasks)) }

func (s *Settings) final() int { return min(s.Select.Final, len(s.Tasks)) }

// reserved returns how many calls are reserved for the time after the search.
func (s *Settings) reserved() int { return (s.Beam+1)*s.final() + 2*len(s.HeldOut) }
