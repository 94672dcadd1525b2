package fleet

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/fleet/queue"
	"github.com/merit-rl/merit/sdk/merit"
)

// ScoreChunk is how many trajectories a Scorer is best given at one time: enough
// for some dozen workers.
const ScoreChunk = 8192

// Scorer has a fleet score trajectories: it is a scoring.Evaluator, whose
// evaluations are those of this process but for the wall clock. What the workers
// cannot score has the outcome Infrastructure.
type Scorer struct {
	*Coordinator
	pool  *reward.Pool // of this process
	group bool

	measure sync.Once
	here    time.Duration // that an evaluation takes in this process; 0 is unknown

	pace  sync.Mutex // of what follows
	warm  bool       // workers have come and given a result
	took  time.Duration
	count int // of trajectories that it took so long for
}

// NewScorer packs the rewards of r, which cfg configures, and gives them to f, which
// the caller closes. A scorer of this process cannot be sent, and is an error.
func NewScorer(f queue.Fleet, r *merit.Rewards, cfg *merit.Config, o CoordinatorOptions) (*Scorer, error) {
	own := *merit.DefaultConfig() // nothing plays
	own.Sandbox, own.Rewards, own.Places = cfg.Sandbox, cfg.Rewards, cfg.Places
	own.Sandbox.Workers = 0 // a worker's own
	c, err := coordinate(f, &merit.Session{Rewards: r, Config: &own}, o)
	if err != nil {
		return nil, err
	}
	return &Scorer{Coordinator: c, pool: inOneSlot(r), group: r.Group()}, nil
}

// StepIndexing implements scoring.Evaluator.
func (s *Scorer) StepIndexing() reward.StepIndexing { return s.pool.StepIndexing() }

// EvaluateAll implements scoring.Evaluator.
func (s *Scorer) EvaluateAll(ctx context.Context, trajectories []*rl.Trajectory, onResult func(i int, e reward.Evaluation)) ([]reward.Evaluation, error) {
	if onResult == nil {
		onResult = func(int, reward.Evaluation) {}
	}
	from := s.begun(time.Now())
	told := func(i int, e reward.Evaluation) {
		from.CompareAndSwap(nil, new(time.Now()))
		onResult(i, e)
	}
	e := &errand{Scorer: s, all: trajectories, tell: told, out: make([]reward.Evaluation, len(trajectories))}
	for open := e.cut(); len(open) > 0; {
		e.alone = nil
		if err := e.submit(ctx, open); err != nil {
			return nil, err
		}
		open = e.alone
	}
	s.ended(from, time.Now(), len(trajectories))
	s.measure.Do(func() { s.measureHere(ctx, trajectories, e.out) })
	return e.out, ctx.Err()
}

// begun is from when the fleet's time counts: at first from its first result on,
// since before that workers come and start, which may be as long as it will.
func (s *Scorer) begun(now time.Time) *atomic.Pointer[time.Time] {
	s.pace.Lock()
	defer s.pace.Unlock()
	from := new(atomic.Pointer[time.Time])
	if s.warm {
		from.Store(&now)
	}
	return from
}

// ended adds what the fleet took for n trajectories.
func (s *Scorer) ended(from *atomic.Pointer[time.Time], now time.Time, n int) {
	s.pace.Lock()
	defer s.pace.Unlock()
	if began := from.Load(); began != nil {
		s.warm = true
		s.took += now.Sub(*began)
		s.count += n
	}
}

// measureFor is about how long measuring takes, in which shards wait.
const measureFor = 50 * time.Millisecond

// measureHere finds out how long an evaluation takes in this process, by the first
// trajectories. Rewards that ask somebody are not measured: that costs, and workers
// may have keys that this process lacks. Nor is what comes to something else here
// than it did there: a reward that fails at once takes no time.
func (s *Scorer) measureHere(ctx context.Context, trajectories []*rl.Trajectory, there []reward.Evaluation) {
	for _, p := range s.pool.Parts() {
		if p.Scorer.Info().InFlight > 0 {
			return
		}
	}
	if s.group || len(trajectories) < 2 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 20*measureFor)
	defer cancel()
	s.pool.EvaluateUnit(ctx, trajectories[:1]) // the first one starts an instance
	n, began := 0, time.Now()
	for i, t := range trajectories[1:] {
		if e := s.pool.EvaluateUnit(ctx, []*rl.Trajectory{t}); e[0].Outcome != there[i+1].Outcome {
			return
		}
		if n++; time.Since(began) > measureFor {
			break
		}
	}
	if ctx.Err() == nil {
		s.here = time.Since(began) / time.Duration(n)
	}
}

// Pays compares what a fleet took for n trajectories with what they would have
// taken without one, where an evaluation takes here and so many are computed at one
// time. No is said only where it is clear: the fleet took a second and more, and
// more than twice as long.
func Pays(here time.Duration, parallel, n int, took time.Duration) (alone time.Duration, pays bool) {
	alone = here * time.Duration(n) / time.Duration(max(1, parallel))
	return alone, here <= 0 || took < time.Second || took <= 2*alone
}

// Pace returns how long an evaluation takes in this process, as the first of them
// tell, 0 if that is not known; and what the fleet took for how many trajectories,
// after its workers had come.
func (s *Scorer) Pace() (here time.Duration, n int, took time.Duration) {
	s.pace.Lock()
	defer s.pace.Unlock()
	return s.here, s.count, s.took
}
