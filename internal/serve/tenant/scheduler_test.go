package tenant_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/serve/tenant"
)

// sleeper is a reward that takes a nanosecond per unit of fuel and counts running evaluations.
type sleeper struct {
	fuel    func() uint64
	running *atomic.Int64
	most    atomic.Int64
	used    atomic.Uint64
	own     atomic.Int64
}

func (s *sleeper) Info() reward.Info { return reward.Info{Name: "sleeper"} }

func (s *sleeper) Evaluate(context.Context, *rl.Trajectory) reward.Evaluation {
	own := s.own.Add(1)
	s.most.Store(max(s.most.Load(), own))
	s.running.Add(1)
	fuel := s.fuel()
	time.Sleep(time.Duration(fuel))
	s.running.Add(-1)
	s.own.Add(-1)
	s.used.Add(fuel)
	return reward.Evaluation{Outcome: reward.Scored, Fuel: fuel}
}

// named returns the tenants of a file by name.
func named(t *testing.T, text string) map[string]*tenant.Tenant {
	t.Helper()
	r, err := tenant.Load(write(t, text))
	require.NoError(t, err)
	all := map[string]*tenant.Tenant{}
	for _, who := range r.Tenants() {
		all[who.Name] = who
	}
	return all
}

// keepBusy evaluates in a loop on the given number of goroutines until ctx is canceled.
func keepBusy(ctx context.Context, wg *sync.WaitGroup, goroutines int, r reward.Scorer) {
	for range goroutines {
		wg.Go(func() {
			for ctx.Err() == nil {
				r.Evaluate(ctx, &rl.Trajectory{})
			}
		})
	}
}

// Promise: tenants that are always busy use equal fuel, or fuel in proportion to their weights,
// whatever their evaluations cost and however many wait.
func TestFairByFuel(t *testing.T) {
	testneeds.NotShort(t)
	for _, c := range []struct {
		name          string
		slots         int
		weightB       float64
		fuelA, fuelB  func() uint64
		waitA, waitB  int
		wantB, within float64 // fuel of b ÷ fuel of a
	}{
		{"100 times the fuel", 4, 1, always(1e6), always(1e4), 8, 8, 1, 0.05},
		{"100 times the callers", 4, 1, always(1e5), always(1e5), 400, 4, 1, 0.05},
		{"both", 8, 1, always(1e4), always(1e6), 16, 800, 1, 0.1},
		{"one loops now and then", 8, 1, sometimes(1e4, 5e7, 1000), always(1e4), 16, 16, 1, 0.1},
		{"three times the weight", 8, 3, always(1e5), always(1e4), 16, 16, 3, 0.1},
		{"weight of a third", 16, 1.0 / 3, always(1e5), always(3e4), 40, 40, 1.0 / 3, 0.1},
	} {
		t.Run(c.name, func(t *testing.T) {
			who := named(t, fmt.Sprintf("tenants: [{name: a}, {name: b, limits: {weight: %g}}]", c.weightB))
			synctest.Test(t, func(t *testing.T) {
				s := tenant.NewScheduler(c.slots)
				var running atomic.Int64
				a, b := &sleeper{fuel: c.fuelA, running: &running}, &sleeper{fuel: c.fuelB, running: &running}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				var wg sync.WaitGroup
				keepBusy(ctx, &wg, c.waitA, s.Gate(who["a"], a))
				keepBusy(ctx, &wg, c.waitB, s.Gate(who["b"], b))
				wg.Wait()
				require.InEpsilon(t, c.wantB, float64(b.used.Load())/float64(a.used.Load()), c.within)
				require.InEpsilon(t, float64(c.slots)*1e9, float64(a.used.Load()+b.used.Load()), 0.1, "no slot stands empty")
			})
		})
	}
}

func always(n uint64) func() uint64 { return func() uint64 { return n } }

// sometimes returns n, and occasionally much more.
func sometimes(n, more uint64, in int) func() uint64 {
	var calls atomic.Int64
	return func() uint64 {
		if calls.Add(1)%int64(in) == 0 {
			return more
		}
		return n
	}
}

// Promise: a tenant without a running evaluation never waits, even while others use every slot
// for long.
func TestTheFirstRunsAtOnce(t *testing.T) {
	who := named(t, "tenants: [{name: hog}, {name: a}, {name: b}]")
	synctest.Test(t, func(t *testing.T) {
		s := tenant.NewScheduler(2)
		var running atomic.Int64
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		keepBusy(ctx, &wg, 50, s.Gate(who["hog"], &sleeper{fuel: always(1e9), running: &running}))
		for i := range 20 {
			time.Sleep(time.Duration(i) * 77 * time.Millisecond)
			for _, name := range []string{"a", "b"} {
				start := time.Now()
				s.Gate(who[name], &sleeper{fuel: always(1e3), running: &running}).Evaluate(ctx, &rl.Trajectory{})
				require.Equal(t, time.Microsecond, time.Since(start))
			}
		}
		cancel()
		wg.Wait()
	})
}

// Promise: one slot is kept free for a tenant that ran a moment ago and may return, but not for
// one that stays away, nor while all are busy.
func TestASlotIsKept(t *testing.T) {
	who := named(t, "tenants: [{name: hog}, {name: a}]")
	synctest.Test(t, func(t *testing.T) {
		s := tenant.NewScheduler(4)
		var running atomic.Int64
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		hog, a := &sleeper{fuel: always(1e6), running: &running}, &sleeper{fuel: always(1e6), running: &running}
		keepBusy(ctx, &wg, 9, s.Gate(who["hog"], hog))
		gate := s.Gate(who["a"], a)
		runs := func(after time.Duration) int64 {
			time.Sleep(after)
			synctest.Wait()
			return running.Load()
		}
		require.EqualValues(t, 4, runs(time.Second/2))
		gate.Evaluate(ctx, &rl.Trajectory{})
		require.EqualValues(t, 3, runs(3*time.Millisecond/2))
		require.EqualValues(t, 3, runs(time.Second-4*time.Millisecond))
		require.EqualValues(t, 4, runs(4*time.Millisecond))
		keepBusy(ctx, &wg, 9, gate)
		require.EqualValues(t, 4, runs(9*time.Millisecond/2))
		cancel()
		wg.Wait()
	})
}

// Promise: an idle tenant does not save up a share. When it resumes, it and the others get
// their usual shares.
func TestIdleTenantsDoNotSaveUp(t *testing.T) {
	testneeds.NotShort(t)
	who := named(t, "tenants: [{name: a}, {name: b}]")
	synctest.Test(t, func(t *testing.T) {
		s := tenant.NewScheduler(8)
		var running atomic.Int64
		a, b := &sleeper{fuel: always(1e5), running: &running}, &sleeper{fuel: always(1e5), running: &running}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		// Alone, with and without a queue; meanwhile b asks for one now and then.
		keepBusy(ctx, &wg, 7, s.Gate(who["a"], a))
		for range 100 {
			time.Sleep(10 * time.Millisecond)
			s.Gate(who["b"], b).Evaluate(ctx, &rl.Trajectory{})
		}
		keepBusy(ctx, &wg, 20, s.Gate(who["a"], a))
		time.Sleep(time.Second)
		usedA, usedB := a.used.Load(), b.used.Load()
		keepBusy(ctx, &wg, 20, s.Gate(who["b"], b))
		time.Sleep(100 * time.Millisecond)
		require.InEpsilon(t, float64(a.used.Load()-usedA), float64(b.used.Load()-usedB), 0.1)
		cancel()
		wg.Wait()
	})
}

// Promise: no tenant runs more than its concurrency at once, and it leaves the slots to others.
func TestConcurrency(t *testing.T) {
	who := named(t, "tenants: [{name: a, limits: {concurrency: 2}}, {name: b}]")
	synctest.Test(t, func(t *testing.T) {
		s := tenant.NewScheduler(6)
		var running atomic.Int64
		a, b := &sleeper{fuel: always(1e5), running: &running}, &sleeper{fuel: always(1e5), running: &running}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		var wg sync.WaitGroup
		keepBusy(ctx, &wg, 20, s.Gate(who["a"], a))
		keepBusy(ctx, &wg, 20, s.Gate(who["b"], b))
		wg.Wait()
		require.EqualValues(t, 2, a.most.Load())
		require.InEpsilon(t, 2, float64(b.used.Load())/float64(a.used.Load()), 0.1, "four slots against two")
	})
}

// Promise: for any sequence of requests and cancellations, at most the slots plus one per
// tenant run, no tenant exceeds its concurrency, every request is answered, and in the end
// every slot is free.
func TestRandomSchedules(t *testing.T) {
	testneeds.NotShort(t)
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 1))
		slots, tenants := 1+random.IntN(5), 1+random.IntN(6)
		text, limit := "tenants:\n", map[string]int{}
		for i := range tenants {
			name := fmt.Sprint("t", i)
			limit[name] = random.IntN(4)
			text += fmt.Sprintf("  - {name: %s, limits: {concurrency: %d, weight: %g}}\n", name, limit[name], 0.1+random.Float64())
		}
		who := named(t, text)
		synctest.Test(t, func(t *testing.T) {
			s := tenant.NewScheduler(slots)
			var running, gaveUp, answered atomic.Int64
			var wg sync.WaitGroup
			all := map[string]*sleeper{}
			for name, one := range who {
				delays := rand.New(rand.NewPCG(seed, uint64(len(all))))
				var mu sync.Mutex
				pick := func(n int) int {
					mu.Lock()
					defer mu.Unlock()
					return delays.IntN(n)
				}
				x := &sleeper{running: &running, fuel: func() uint64 {
					if n := running.Load(); n > int64(slots+tenants-1) {
						t.Errorf("seed %d: %d run in %d slots with %d tenants", seed, n, slots, tenants)
					}
					return uint64(pick(1000))
				}}
				all[name] = x
				gate := s.Gate(one, x)
				for range 1 + pick(30) {
					wg.Go(func() {
						for range pick(20) {
							time.Sleep(time.Duration(pick(5000)))
							ctx, cancel := context.WithTimeout(t.Context(), time.Duration(pick(8000)))
							if e := gate.Evaluate(ctx, &rl.Trajectory{}); e.Outcome == reward.Infrastructure {
								gaveUp.Add(1)
							} else {
								answered.Add(1)
							}
							cancel()
						}
					})
				}
			}
			wg.Wait()
			for name, x := range all {
				if most := limit[name]; most > 0 {
					require.LessOrEqual(t, x.most.Load(), int64(most), "seed %d", seed)
				}
			}
			require.Zero(t, running.Load())
			time.Sleep(2 * time.Second) // nobody is expected back
			// All slots are free: as many evaluations as slots run together.
			var mu sync.Mutex
			together := 0
			free := named(t, "tenants: [{name: last}]")["last"]
			gate := s.Gate(free, scorer{do: func(context.Context, *rl.Trajectory) reward.Evaluation {
				mu.Lock()
				together++
				mu.Unlock()
				time.Sleep(time.Second)
				return reward.Evaluation{Outcome: reward.Scored, Fuel: 1}
			}})
			for range slots {
				wg.Go(func() { gate.Evaluate(t.Context(), &rl.Trajectory{}) })
			}
			synctest.Wait()
			require.Equal(t, slots, together, "seed %d", seed)
			wg.Wait()
		})
	}
}

// Promise: a request that gives up while it waits has an outcome without a score, and the
// reward is not called.
func TestGivingUp(t *testing.T) {
	who := only(t, tenant.Limits{Concurrency: 1})
	synctest.Test(t, func(t *testing.T) {
		s := tenant.NewScheduler(1)
		var running atomic.Int64
		x := &sleeper{fuel: always(1e9), running: &running}
		gate := s.Gate(who, x)
		go gate.Evaluate(t.Context(), &rl.Trajectory{})
		synctest.Wait()
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("the client is gone"))
		require.Equal(t, reward.Evaluation{Outcome: reward.Infrastructure, Reason: "the request was canceled before its turn: the client is gone"}, gate.Evaluate(ctx, &rl.Trajectory{}))
		late, stop := context.WithTimeout(t.Context(), time.Millisecond)
		defer stop()
		require.Equal(t, reward.Infrastructure, gate.Evaluate(late, &rl.Trajectory{}).Outcome)
		time.Sleep(2 * time.Second)
		require.EqualValues(t, 1e9, x.used.Load())
	})
}

// compare is a reward for whole groups if its information says so.
type compare struct{ scorer }

func (c compare) EvaluateGroup(ctx context.Context, members []*rl.Trajectory) (all []reward.Evaluation) {
	for _, m := range members {
		all = append(all, c.do(ctx, m))
	}
	return all
}

// Promise: a gate has the same kind as its reward: one that compares members receives them as a
// group, in one turn, and no other does.
func TestGateOfGroups(t *testing.T) {
	registry := tenant.Local(tenant.Limits{})
	who, err := registry.Authenticate("")
	require.NoError(t, err)
	s := tenant.NewScheduler(1)
	one := fixed(reward.Evaluation{Outcome: reward.Scored, Fuel: 2})
	_, group := s.Gate(who, compare{one}).(reward.GroupScorer)
	require.False(t, group, "its Info says that it does not compare")
	one.info.Group = true
	_, group = s.Gate(who, one).(reward.GroupScorer)
	require.False(t, group, "it has no EvaluateGroup")
	gate, group := s.Gate(who, compare{one}).(reward.GroupScorer)
	require.True(t, group)
	require.Equal(t, one.info, gate.Info())
	require.Len(t, gate.EvaluateGroup(t.Context(), make([]*rl.Trajectory, 3)), 3)
	ended, stop := context.WithCancel(t.Context())
	stop()
	for _, e := range gate.EvaluateGroup(ended, make([]*rl.Trajectory, 3)) {
		require.Equal(t, reward.Infrastructure, e.Outcome)
	}
	require.Equal(t, map[reward.Outcome]uint64{reward.Scored: 3}, registry.Usage()[0].Evaluations)
	require.EqualValues(t, 6, registry.Usage()[0].Fuel)
}

// Promise: other work of a tenant takes turns with evaluations, and its time, which depends on
// other tenants, is not charged as fuel.
func TestTurn(t *testing.T) {
	who := only(t, tenant.Limits{Concurrency: 1, FuelPerSecond: 1e9})
	synctest.Test(t, func(t *testing.T) {
		s := tenant.NewScheduler(4)
		done, err := s.Turn(t.Context(), who)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = s.Turn(ctx, who)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		time.Sleep(9 * time.Second)
		done()
		done()
		release, err := who.Admit(1)
		require.NoError(t, err)
		release()
		done, err = s.Turn(t.Context(), who)
		require.NoError(t, err)
		done()
	})
}

// Promise: a reward that panics releases its slot.
func TestAPanicGivesTheSlotBack(t *testing.T) {
	s, who := tenant.NewScheduler(1), only(t, tenant.Limits{Concurrency: 1})
	gate := s.Gate(who, scorer{do: func(context.Context, *rl.Trajectory) reward.Evaluation { panic("x") }})
	for range 3 {
		require.Panics(t, func() { gate.Evaluate(t.Context(), &rl.Trajectory{}) })
	}
}

// BenchmarkGate measures the gate itself, with a reward that costs nothing, as many callers as
// CPUs and more, and one or several tenants.
func BenchmarkGate(b *testing.B) {
	for _, c := range []struct{ tenants, callers int }{{1, 1}, {1, 2}, {1, 16}, {8, 16}, {500, 1000}} {
		b.Run(fmt.Sprintf("tenants=%d/callers=%d", c.tenants, c.callers), func(b *testing.B) {
			b.ReportAllocs()
			s := tenant.NewScheduler(2)
			var wg sync.WaitGroup
			one := fixed(reward.Evaluation{Outcome: reward.Scored, Fuel: 1000})
			var gates []reward.Scorer
			for range c.tenants {
				who, _ := tenant.Local(tenant.Limits{FuelPerSecond: 1e15}).Authenticate("")
				gates = append(gates, s.Gate(who, one))
			}
			b.ResetTimer()
			for i := range c.callers {
				wg.Go(func() {
					for range (b.N + c.callers - 1) / c.callers {
						gates[i%len(gates)].Evaluate(b.Context(), nil)
					}
				})
			}
			wg.Wait()
		})
	}
}

// Promise: invalid input delays a tenant's next input only while others compute, and valid
// input delays nothing.
func TestWaste(t *testing.T) {
	attacker, neighbour := only(t, tenant.Limits{}), only(t, tenant.Limits{})
	synctest.Test(t, func(t *testing.T) {
		s := tenant.NewScheduler(4)
		wrong := errors.New("cannot be read")
		decode := func(who *tenant.Tenant, err error) time.Duration {
			began := time.Now()
			took, got := s.Decode(t.Context(), who, func() error { time.Sleep(100 * time.Millisecond); return err })
			require.Equal(t, err, got)
			require.Equal(t, 100*time.Millisecond, took)
			if err != nil {
				s.Wasted(who, took)
			}
			return time.Since(began)
		}
		require.Equal(t, 100*time.Millisecond, decode(attacker, wrong))
		require.Equal(t, 100*time.Millisecond, decode(attacker, wrong), "alone, nobody is disturbed")
		require.Equal(t, 100*time.Millisecond, decode(neighbour, nil), "and a neighbour waits for nothing")
		require.Equal(t, 2*time.Second, decode(attacker, nil), "beside a neighbour it waits for both, up to two seconds, less what has passed")
		require.Equal(t, 100*time.Millisecond, decode(attacker, nil), "once")
		for range 20 {
			decode(attacker, wrong)
			require.Equal(t, 100*time.Millisecond, decode(neighbour, nil))
		}
		require.Equal(t, 100*time.Millisecond, decode(neighbour, wrong))
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		took, err := s.Decode(ctx, attacker, func() error { return nil })
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Zero(t, took)
		time.Sleep(3 * time.Second)
		require.Equal(t, 100*time.Millisecond, decode(attacker, nil), "what is owed passes")
	})
}
