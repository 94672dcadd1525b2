package ready

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/stretchr/testify/require"
)

// thing is an open value in the tests.
type thing struct{ users, closed atomic.Int64 }

func (t *thing) Close(context.Context) { t.closed.Add(1) }

var ctx = context.Background()

func opens(t *thing) func(context.Context) (*thing, error) {
	return func(context.Context) (*thing, error) { return t, nil }
}

func take(t testing.TB, d *Pool[*thing], tenant string, n int, x *thing) *Opened[*thing] {
	o, err := d.Take(ctx, Key{tenant, fmt.Sprint(n), ""}, opens(x))
	require.NoError(t, err)
	return o
}

// Promise: a tenant's least recently used value is closed. Values in use are not, and then this
// tenant gets no more.
func TestBoundOfEach(t *testing.T) {
	d := NewPool[*thing](Bounds{Each: 2})
	defer d.Close(ctx)
	var a, b, c, e thing
	d.Release(take(t, d, "ann", 1, &a))
	d.Release(take(t, d, "ann", 2, &b))
	d.Release(take(t, d, "ann", 1, nil)) // is open
	held := take(t, d, "ann", 3, &c)
	require.EqualValues(t, []int64{0, 1, 0}, []int64{a.closed.Load(), b.closed.Load(), c.closed.Load()})
	also := take(t, d, "ann", 1, nil)
	_, err := d.Take(ctx, Key{"ann", "4", ""}, opens(&e))
	require.ErrorIs(t, err, fault.Of(fault.Sandbox, fault.Exhausted))
	require.True(t, fault.Retryable(err))
	d.Release(take(t, d, "bob", 4, new(thing)))
	d.Release(also)
	d.Release(take(t, d, "ann", 4, &e))
	d.Release(held)
	require.EqualValues(t, 1, a.closed.Load())
}

// Promise: open values of tenants do not close those of the operator, whose name is empty.
func TestBoundOfTheOperator(t *testing.T) {
	d := NewPool[*thing](Bounds{Each: 2})
	defer d.Close(ctx)
	held := []*Opened[*thing]{take(t, d, "ann", 1, new(thing)), take(t, d, "bob", 2, new(thing)), take(t, d, "", 3, new(thing))}
	for _, o := range held {
		d.Release(o)
	}
}

// Promise: if the total limit is reached, the tenant with most values loses one, and a tenant
// without any gets its first in any case.
func TestBoundOfAll(t *testing.T) {
	d := NewPool[*thing](Bounds{Each: 3, All: 4})
	defer d.Close(ctx)
	things := make([]thing, 9)
	var held []*Opened[*thing]
	for i := range 3 {
		d.Release(take(t, d, "ann", i, &things[i]))
	}
	d.Release(take(t, d, "bob", 3, &things[3]))
	held = append(held, take(t, d, "cleo", 4, &things[4]))
	require.EqualValues(t, 1, things[0].closed.Load(), "ann's oldest")
	for i := 1; i < 4; i++ {
		require.Zero(t, things[i].closed.Load())
	}
	held = append(held, take(t, d, "ann", 1, nil), take(t, d, "ann", 2, nil), take(t, d, "bob", 3, nil))
	held = append(held, take(t, d, "dan", 5, &things[5]))
	_, err := d.Take(ctx, Key{"dan", "6", ""}, opens(&things[6]))
	require.ErrorIs(t, err, fault.Of(fault.Sandbox, fault.Exhausted))
	for _, o := range held {
		d.Release(o)
	}
}

// Promise: a failed load is not repeated for a while. After that, or after Forget, it is.
func TestFailuresAreKept(t *testing.T) {
	d := NewPool[*thing](Bounds{Again: 5 * time.Second})
	defer d.Close(ctx)
	var now atomic.Int64
	d.mu.Lock()
	d.now = func() time.Time { return time.Unix(now.Load(), 0) }
	d.mu.Unlock()
	broken, tries := errors.New("broken"), 0
	k := Key{"ann", "1", ""}
	try := func() error {
		_, err := d.Take(ctx, k, func(context.Context) (*thing, error) { tries++; return nil, broken })
		return err
	}
	for range 10 {
		require.ErrorIs(t, try(), broken)
	}
	require.Equal(t, 1, tries)
	now.Add(6)
	require.ErrorIs(t, try(), broken)
	require.Equal(t, 2, tries)
	d.Forget(k)
	require.ErrorIs(t, try(), broken)
	require.Equal(t, 3, tries)
	d.Forget(k)
	d.Release(take(t, d, "ann", 1, new(thing)))
}

// Promise: a value that is unused for a while is closed, and one in use stays open.
func TestIdle(t *testing.T) {
	d := NewPool[*thing](Bounds{Idle: 20 * time.Millisecond})
	defer d.Close(ctx)
	var idle, used thing
	d.Release(take(t, d, "ann", 1, &idle))
	o := take(t, d, "ann", 2, &used)
	require.Eventually(t, func() bool { return idle.closed.Load() == 1 }, time.Minute, time.Millisecond)
	require.Zero(t, used.closed.Load())
	d.Release(o)
}

// Promise: loads of one tenant wait for each other, and not for another tenant's.
func TestLoadsOfEach(t *testing.T) {
	d := NewPool[*thing](Bounds{Loads: 1})
	defer d.Close(ctx)
	hold, second := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	load := func(tenant string, n int, f func()) {
		all.Go(func() {
			o, err := d.Take(ctx, Key{tenant, fmt.Sprint(n), ""}, func(context.Context) (*thing, error) { f(); return new(thing), nil })
			require.NoError(t, err)
			d.Release(o)
		})
	}
	began := make(chan struct{})
	load("ann", 1, func() { close(began); <-hold })
	<-began
	load("ann", 2, func() { close(second) })
	bob := make(chan struct{})
	load("bob", 1, func() { close(bob) })
	<-bob
	select {
	case <-second:
		t.Error("two loads of one tenant")
	case <-time.After(20 * time.Millisecond):
	}
	close(hold)
	all.Wait()
}

// Promise: whatever the sequence of uses, nothing is closed while it is used, or twice, and
// everything is closed in the end.
func TestAnyUse(t *testing.T) {
	d := NewPool[*thing](Bounds{Each: 2, All: 5, Idle: time.Millisecond})
	var made sync.Map
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(worker)))
			for range 500 {
				k := Key{fmt.Sprint(r.IntN(4)), fmt.Sprint(r.IntN(4)), ""}
				o, err := d.Take(ctx, k, func(context.Context) (*thing, error) {
					x := new(thing)
					made.Store(x, true)
					return x, nil
				})
				if err != nil {
					require.ErrorIs(t, err, fault.Of(fault.Sandbox, fault.Exhausted))
					continue
				}
				o.Value.users.Add(1)
				require.Zero(t, o.Value.closed.Load())
				if r.IntN(3) == 0 {
					d.Drop(func(other Key) bool { return other == k })
				}
				require.Zero(t, o.Value.closed.Load())
				o.Value.users.Add(-1)
				d.Release(o)
			}
		})
	}
	all.Wait()
	d.Close(ctx)
	n := 0
	made.Range(func(x, _ any) bool {
		n++
		require.EqualValues(t, 1, x.(*thing).closed.Load())
		return true
	})
	require.Greater(t, n, 10)
	_, err := d.Take(ctx, Key{}, opens(new(thing)))
	require.ErrorIs(t, err, fault.Of("", fault.Interrupted))
}
