// Package tenant is who asks a server of rewards and how much they may: the
// tenants' file and their keys, limits, what is admitted, the order in which
// evaluations run, and the accounts.
package tenant

import (
	"sync"

	"golang.org/x/time/rate"

	"github.com/merit-rl/merit/core/fault"
)

// Tenant is one who asks, with the key that was used. Values are made by a
// Registry: there is one for each key, and those of one tenant share its
// limits, its place in the queue and its fuel.
type Tenant struct {
	Name   string
	Key    string // the id of the key; empty for a tenant without keys
	Limits Limits // with defaults filled in

	account *account
	meter   *meter
}

// account is what the keys of a tenant share. It outlives a reload of the
// tenants' file: debts stay.
type account struct {
	name string

	mu       sync.Mutex
	limits   Limits
	requests bucket
	refusals rate.Limiter
	fuel     bucket
	held     int64     // bytes of the server's memory
	underWay int       // requests
	queued   int       // trajectories that were accepted and are not answered
	waiting  []*opener // of streams, in order of arrival
}

// opener is a stream that waits for a place in the queue.
type opener struct {
	open    chan struct{} // closed when it has one
	granted bool
}

// set gives the account its limits. What is admitted stays so.
func (a *account) set(l Limits) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.limits = l
	a.requests.set(l.RequestsPerSecond)
	a.fuel.set(float64(l.FuelPerSecond))
	a.next()
}

// refused is the error of a request that is not let in.
func refused(kind fault.Kind, where, what, hint string) *fault.Error {
	return &fault.Error{Boundary: fault.Server, Kind: kind, Where: where, What: what, Hint: hint}
}
