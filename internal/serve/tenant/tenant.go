// Package tenant manages who uses a reward server and how much they may use it: the tenants
// file and the keys, limits, admission, the order of evaluations, and accounting.
package tenant

import (
	"sync"

	"golang.org/x/time/rate"

	"github.com/merit-rl/merit/core/fault"
)

// Tenant is a tenant together with the key that a request used. A Registry creates one value
// per key. The values of one tenant share its limits, its queue and its fuel.
type Tenant struct {
	Name   string
	Key    string // id of the key; empty for a tenant without keys
	Limits Limits // with defaults applied

	account *account
	meter   *meter
}

// account is what the keys of a tenant share. It survives a reload of the tenants file, so that
// debts stay.
type account struct {
	name string

	mu       sync.Mutex
	limits   Limits
	requests bucket
	refusals rate.Limiter
	fuel     bucket
	held     int64     // bytes of the server's memory
	underWay int       // running requests
	queued   int       // accepted trajectories without an answer
	waiting  []*opener // waiting streams, in order of arrival
}

// opener is a stream that waits for a place in the queue.
type opener struct {
	open    chan struct{} // closed when it has a place
	granted bool
}

// set sets the account's limits. What is admitted stays admitted.
func (a *account) set(l Limits) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.limits = l
	a.requests.set(l.RequestsPerSecond)
	a.fuel.set(float64(l.FuelPerSecond))
	a.next()
}

// refused returns the error of a refused request.
func refused(kind fault.Kind, where, what, hint string) *fault.Error {
	return &fault.Error{Boundary: fault.Server, Kind: kind, Where: where, What: what, Hint: hint}
}
