package tenant

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/merit-rl/merit/core/fault"
)

// Busy is the error of what would be admitted later: a limit is used up.
type Busy struct {
	Err        *fault.Error  // of the kind fault.Exhausted: which limit, its value and where to raise it
	RetryAfter time.Duration // when to ask again, in whole seconds, at least one
	Flood      bool          // it was refused many times already and asks all the same
}

// Error says which limit is used up.
func (b *Busy) Error() string { return b.Err.Error() }

// Unwrap returns Err.
func (b *Busy) Unwrap() error { return b.Err }

// The limits that refuse, as usage and metrics name them.
const (
	byRequests = "requests_per_second"
	byFuel     = "fuel_per_second"
	byQueue    = "queue"
	byMemory   = "memory"
	byUnderWay = "requests"
)

// FuelPerByte is what a byte of a request's body counts for against
// fuel_per_second, as it comes and before it is decoded: about what decoding and
// checking it takes of a processor. It is not in the fuel of usage, which is that
// of evaluations.
const FuelPerByte = 32

// Request counts one request, or refuses it with a *Busy.
func (t *Tenant) Request() error {
	a, now := t.account, time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	t.meter.request()
	if d := a.requests.wait(now, 1); d > 0 {
		err := t.busy(byRequests, a.limits.RequestsPerSecond, "the requests of this second are used up", d)
		err.Flood = !a.refusals.Allow()
		return err
	}
	a.requests.take(now, 1)
	return nil
}

// Enter counts a request as under way until leave is called, or refuses it with a
// *Busy where as many as most are.
func (t *Tenant) Enter(most int) (leave func(), err error) {
	a := t.account
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.underWay >= most {
		return nil, t.busy(byUnderWay, most, "as many requests as may be are under way", time.Second)
	}
	a.underWay++
	return sync.OnceFunc(func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.underWay--
	}), nil
}

// Afford refuses with a *Busy what would be read while fuel is owed. What is let in
// is answered, whatever it takes: no request is too large to be ever paid.
func (t *Tenant) Afford() error {
	a := t.account
	a.mu.Lock()
	defer a.mu.Unlock()
	if d := a.fuel.wait(time.Now(), 0); d > 0 {
		return t.busy(byFuel, a.limits.FuelPerSecond, "fuel was used faster than it is given", d)
	}
	return nil
}

// Admit accepts as many trajectories into the queue, or none: a *Busy says when
// to ask again, and a *fault.Error of the kind fault.Exhausted that there are
// more than the queue ever holds. Release must be called when they are
// answered; more calls of it do nothing.
func (t *Tenant) Admit(trajectories int) (release func(), err error) {
	a := t.account
	a.mu.Lock()
	defer a.mu.Unlock()
	if most := a.limits.Queue; trajectories > most {
		t.meter.refuse(byQueue)
		return nil, refused(fault.Exhausted, "limits.queue", fmt.Sprintf("%d trajectories at one time are more than the %d that tenant %s may have in the queue", trajectories, most, t.Name),
			"send fewer in a request, or as a stream; the operator raises limits.queue in the tenants' file")
	}
	if a.queued+trajectories > a.limits.Queue {
		return nil, t.busy(byQueue, a.limits.Queue, fmt.Sprintf("%d trajectories wait already", a.queued), time.Second)
	}
	a.queued += trajectories
	return t.releaser(trajectories), nil
}

// Hold takes bytes of the memory that all tenants share for requests, of which
// one may hold most: who sends large ones that never end keeps nobody out. A
// tenant that holds nothing may have any one request. The error is a *Busy.
func (t *Tenant) Hold(bytes, most int64) (release func(), err error) {
	a := t.account
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held > 0 && a.held+bytes > most {
		t.meter.refuse(byMemory)
		e := refused(fault.Exhausted, "limits."+byMemory, fmt.Sprintf("the requests of tenant %s hold %d bytes of the %d that one tenant may", t.Name, a.held, most),
			"ask again when others of yours are answered, or send less at one time; the operator raises limits.memory of the server")
		e.Retry = true
		return nil, &Busy{Err: e, RetryAfter: time.Second}
	}
	a.held += bytes
	return sync.OnceFunc(func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.held -= bytes
	}), nil
}

func (t *Tenant) releaser(n int) func() {
	return sync.OnceFunc(func() {
		a := t.account
		a.mu.Lock()
		defer a.mu.Unlock()
		a.queued -= n
		a.next()
	})
}

// busy is the error of a limit that is used up for d.
func (t *Tenant) busy(limit string, value any, what string, d time.Duration) *Busy {
	t.meter.refuse(limit)
	seconds := max((d+time.Second-1)/time.Second, 1)
	e := refused(fault.Exhausted, "limits."+limit, fmt.Sprintf("%s: tenant %s has %v", what, t.Name, value),
		fmt.Sprintf("ask again in %d s; the operator raises limits.%s in the tenants' file", seconds, limit))
	e.Retry = true
	return &Busy{Err: e, RetryAfter: seconds * time.Second}
}

// Repay waits until no fuel is owed. The error is that of ctx.
func (t *Tenant) Repay(ctx context.Context) error {
	for {
		t.account.mu.Lock()
		d := t.account.fuel.wait(time.Now(), 0)
		t.account.mu.Unlock()
		if d == 0 {
			return nil
		}
		if err := sleep(ctx, d); err != nil {
			return err
		}
	}
}

// Wait admits one trajectory of a stream: where Admit refuses, it waits. The
// error is that of ctx.
func (t *Tenant) Wait(ctx context.Context) (release func(), err error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	a := t.account
	if err := t.Repay(ctx); err != nil {
		return nil, err
	}
	a.mu.Lock()
	if a.queued < a.limits.Queue {
		a.queued++
		a.mu.Unlock()
		return t.releaser(1), nil
	}
	o := &opener{open: make(chan struct{})}
	a.waiting = append(a.waiting, o)
	a.mu.Unlock()
	select {
	case <-o.open:
		return t.releaser(1), nil
	case <-ctx.Done():
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if o.granted {
		a.queued--
		a.next()
	} else {
		a.waiting = slices.DeleteFunc(a.waiting, func(x *opener) bool { return x == o })
	}
	return nil, context.Cause(ctx)
}

// next gives places in the queue to those who wait.
func (a *account) next() {
	for len(a.waiting) > 0 && a.queued < a.limits.Queue {
		o := a.waiting[0]
		a.waiting = a.waiting[1:]
		a.queued++
		o.granted = true
		close(o.open)
	}
}

// charge takes fuel that was used.
func (a *account) charge(now time.Time, fuel float64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fuel.take(now, fuel)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
