package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/base/cpus"
	"github.com/merit-rl/merit/internal/serve/library"
	"github.com/merit-rl/merit/internal/serve/tenant"
)

// call is one request of a tenant. close releases everything that it holds.
type call struct {
	*Server
	w       *answered
	r       *http.Request
	control *http.ResponseController
	tenant  *tenant.Tenant
	decoded atomic.Int64 // nanoseconds spent on decoding the input
	told    bool         // the response itself reports that it is incomplete, and why
	closers []func()
}

// later registers f to run when the call ends, in reverse order.
func (c *call) later(f func()) { c.closers = append(c.closers, f) }

func (c *call) close() {
	for _, f := range slices.Backward(c.closers) {
		f()
	}
}

func (c *call) name() string {
	if c.tenant == nil {
		return ""
	}
	return c.tenant.Name
}

// json responds with a value.
func (c *call) json(status int, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.text(status, "application/json", append(text, '\n'))
}

// text responds with a text.
func (c *call) text(status int, contentType string, text []byte) error {
	c.w.Header().Set("Content-Type", contentType)
	c.w.Header().Set("Content-Length", fmt.Sprint(len(text)))
	c.w.WriteHeader(status)
	_, err := c.w.Write(text)
	return err
}

// scorer is a reward that is open for a call.
type scorer struct {
	pool     *reward.Pool
	parallel int  // useful number of goroutines
	group    bool // whether it compares the members of a group
	batch    int  // number of consecutive trajectories that it compares, or 0
}

// open opens the reward that ref names until the call ends, sets the header Merit-Reward, and
// returns the reward behind the tenant's gate.
func (c *call) open(ref string, o library.Options) (*scorer, error) {
	lease, err := c.lease(ref, o)
	if err != nil {
		return nil, err
	}
	info := lease.Reward.Info()
	gated := c.metrics.timed(c.tenant.Name, c.Scheduler.Gate(c.tenant, lease.Reward))
	// Goroutines that wait for a slot must not keep others from decoding.
	x := &scorer{parallel: max(2*cpus.Count(), info.InFlight)}
	x.pool = reward.NewPool([]reward.Weighted{{Scorer: gated, Weight: 1}}, x.parallel)
	x.group, x.batch = reward.Units([]reward.Weighted{{Scorer: gated}})
	return x, nil
}

// lease opens a reward until the call ends, without a gate.
func (c *call) lease(ref string, o library.Options) (*library.Lease, error) {
	at, err := library.ParseRef(ref)
	if err != nil {
		return nil, &refusal{http.StatusBadRequest, err}
	}
	if err := c.within(o); err != nil {
		return nil, err
	}
	ctx, span := c.tracer.Start(c.r.Context(), "load", trace.WithAttributes(attribute.String("merit.reward", ref)))
	defer span.End()
	lease, err := c.Library.Acquire(ctx, c.tenant.Name, at, o)
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
		return nil, err
	}
	c.later(lease.Release)
	c.identify(lease.Reward.Info())
	return lease, nil
}

// identify sets the headers that name the reward and, for a script, its function and shape.
func (c *call) identify(info reward.Info) {
	c.w.Header().Set("Merit-Reward", info.Digest)
	if info.Entry != nil {
		text := strconv.QuoteToASCII(info.Entry.String())
		c.w.Header().Set("Merit-Function", text[1:len(text)-1])
	}
}

// within returns an error if the request asks for higher limits than the tenant may have.
func (c *call) within(o library.Options) error {
	most := c.tenant.Limits
	if most.Fuel > 0 && o.Fuel > most.Fuel {
		return refuse(http.StatusUnprocessableEntity, "limits.fuel", fmt.Sprintf("%d exceeds the limit %d of tenant %s", o.Fuel, most.Fuel, c.tenant.Name),
			"use a lower limit, or ask the operator to raise limits.fuel in the tenants file")
	}
	if most.MemoryMiB > 0 && o.MemoryMiB > most.MemoryMiB {
		return refuse(http.StatusUnprocessableEntity, "limits.memory_mib", fmt.Sprintf("%d exceeds the limit %d of tenant %s", o.MemoryMiB, most.MemoryMiB, c.tenant.Name),
			"use a lower limit, or ask the operator to raise limits.memory_mib in the tenants file")
	}
	return nil
}

// reserve reserves memory until the call ends. If there are several tenants, each may hold at
// most half of the memory.
func (c *call) reserve(bytes int64) error {
	share := c.Limits.Memory
	if len(c.Registry.Tenants()) > 1 {
		share /= 2
	}
	release, err := c.tenant.Hold(bytes, share)
	if err != nil {
		return err
	}
	c.later(release)
	ctx, cancel := context.WithTimeout(c.r.Context(), memoryWait)
	defer cancel()
	if err := c.memory.Acquire(ctx, bytes); err != nil {
		c.tenant.Refuse()
		return refuse(http.StatusServiceUnavailable, "", "other requests use all the memory for requests", "retry, or ask the operator to raise limits.memory")
	}
	c.later(func() { c.memory.Release(bytes) })
	return nil
}
