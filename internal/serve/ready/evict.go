package ready

import "time"

// room makes room for one more reward of a tenant and reports whether there is any. It evicts
// the least recently used reward: of the tenant if that has reached its limit, otherwise of the
// tenant with the most unused rewards.
func (p *Pool[R]) room(tenant string) bool {
	if p.count(tenant) >= p.config.Each && !p.evict(tenant) {
		return false
	}
	if p.total() < p.config.All {
		return true
	}
	// If all rewards are in use, a tenant's first may exceed the limit, so that the tenant does
	// not wait for others.
	return p.evict(p.largest()) || p.count(tenant) == 0
}

// total returns the number of open rewards.
func (p *Pool[R]) total() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.open)
}

// count returns the number of open rewards of a tenant. The operator's tenant name is empty.
func (p *Pool[R]) count(tenant string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k := range p.open {
		if k.Tenant == tenant {
			n++
		}
	}
	return n
}

// largest returns the tenant with the most unused rewards.
func (p *Pool[R]) largest() (tenant string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	idle := map[string]int{}
	for k, o := range p.open {
		if o.users > 0 {
			continue
		}
		if idle[k.Tenant]++; idle[k.Tenant] > idle[tenant] || idle[k.Tenant] == idle[tenant] && k.Tenant < tenant {
			tenant = k.Tenant
		}
	}
	return tenant
}

// evict closes the least recently used reward of a tenant. It returns false if all are in use.
func (p *Pool[R]) evict(tenant string) bool {
	var oldest *Opened[R]
	p.mu.Lock()
	for k, o := range p.open {
		if k.Tenant == tenant && o.users == 0 && (oldest == nil || o.used.Before(oldest.used)) {
			oldest = o
		}
	}
	p.mu.Unlock()
	if oldest == nil {
		return false
	}
	gone := false
	p.drop(func(o *Opened[R]) bool {
		if o == oldest && o.users == 0 {
			gone = true
		}
		return o == oldest && gone
	})
	return gone
}

// sweepNowAndThen closes rewards that have been unused for Bounds.Idle.
func (p *Pool[R]) sweepNowAndThen() {
	tick := time.NewTicker(max(p.config.Idle/8, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-p.life.Done():
			return
		case <-tick.C:
			before := p.now().Add(-p.config.Idle)
			p.drop(func(o *Opened[R]) bool { return o.users == 0 && o.used.Before(before) })
		}
	}
}
