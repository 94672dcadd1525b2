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

// call is one request of a tenant. What it holds is given back by close.
type call struct {
	*Server
	w       *answered
	r       *http.Request
	control *http.ResponseController
	tenant  *tenant.Tenant
	decoded atomic.Int64 // nanoseconds that decoding what was sent has taken
	told    bool         // the answer itself says that it is not whole, and why
	closers []func()
}

// later has f run when the call ends, the last first.
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

// json answers with a value.
func (c *call) json(status int, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.text(status, "application/json", append(text, '\n'))
}

// text answers with text.
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
	parallel int  // goroutines that are of use
	group    bool // it compares the members of a group
	batch    int  // or of so many trajectories that follow each other
}

// open opens the reward that ref names until the call ends, says which it is in
// the header Merit-Reward, and returns it behind the tenant's gate.
func (c *call) open(ref string, o library.Options) (*scorer, error) {
	lease, err := c.lease(ref, o)
	if err != nil {
		return nil, err
	}
	info := lease.Reward.Info()
	gated := c.metrics.timed(c.tenant.Name, c.Scheduler.Gate(c.tenant, lease.Reward))
	// Those who wait for a slot keep nobody from decoding.
	x := &scorer{parallel: max(2*cpus.Count(), info.InFlight)}
	x.pool = reward.NewPool([]reward.Weighted{{Scorer: gated, Weight: 1}}, x.parallel)
	x.group, x.batch = reward.Units([]reward.Weighted{{Scorer: gated}})
	return x, nil
}

// lease opens a reward as it is until the call ends.
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

// identify puts into headers which reward answers, and which function of a script
// in which shape.
func (c *call) identify(info reward.Info) {
	c.w.Header().Set("Merit-Reward", info.Digest)
	if info.Entry != nil {
		text := strconv.QuoteToASCII(info.Entry.String())
		c.w.Header().Set("Merit-Function", text[1:len(text)-1])
	}
}

// within refuses limits that the tenant may not ask for.
func (c *call) within(o library.Options) error {
	most := c.tenant.Limits
	if most.Fuel > 0 && o.Fuel > most.Fuel {
		return refuse(http.StatusUnprocessableEntity, "limits.fuel", fmt.Sprintf("%d is more than the %d that tenant %s may ask for", o.Fuel, most.Fuel, c.tenant.Name),
			"ask for less; the operator raises limits.fuel in the tenants' file")
	}
	if most.MemoryMiB > 0 && o.MemoryMiB > most.MemoryMiB {
		return refuse(http.StatusUnprocessableEntity, "limits.memory_mib", fmt.Sprintf("%d is more than the %d that tenant %s may ask for", o.MemoryMiB, most.MemoryMiB, c.tenant.Name),
			"ask for less; the operator raises limits.memory_mib in the tenants' file")
	}
	return nil
}

// reserve takes memory until the call ends: of several tenants, none has more
// than half of it.
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
		return refuse(http.StatusServiceUnavailable, "", "the memory for requests is used up by others", "ask again; the operator raises limits.memory")
	}
	c.later(func() { c.memory.Release(bytes) })
	return nil
}
