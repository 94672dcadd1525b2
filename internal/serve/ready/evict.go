package ready

import "time"

// room makes room for one more reward of a tenant, and reports whether there is
// any: what was not used for longest goes, of the tenant if it has as many as
// it may, else of the tenant that has most.
func (p *Pool[R]) room(tenant string) bool {
	if p.count(tenant) >= p.config.Each && !p.evict(tenant) {
		return false
	}
	if p.total() < p.config.All {
		return true
	}
	// If all of them are in use there is one more: a tenant that needs its first
	// does not wait for others to end.
	return p.evict(p.largest()) || p.count(tenant) == 0
}

// total is how many rewards are open.
func (p *Pool[R]) total() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.open)
}

// count is how many rewards of a tenant are open. The operator is the tenant
// without a name.
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

// largest is the tenant with the most rewards that nobody uses.
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

// evict closes the reward of a tenant that was not used for longest, and
// reports whether there was one that nobody uses.
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

// sweepNowAndThen closes what nobody has used for a while.
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
