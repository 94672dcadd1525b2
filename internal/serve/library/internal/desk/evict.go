package desk

import "time"

// room makes room for one more reward of a tenant, and reports whether there is
// any: what was not used for longest goes, of the tenant if it has as many as
// it may, else of the tenant that has most.
func (d *Desk[R]) room(tenant string) bool {
	if d.count(tenant) >= d.config.Each && !d.evict(tenant) {
		return false
	}
	if d.total() < d.config.All {
		return true
	}
	// If all of them are in use there is one more: a tenant that needs its first
	// does not wait for others to end.
	return d.evict(d.largest()) || d.count(tenant) == 0
}

// total is how many rewards are open.
func (d *Desk[R]) total() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.open)
}

// count is how many rewards of a tenant are open. The operator is the tenant
// without a name.
func (d *Desk[R]) count(tenant string) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for k := range d.open {
		if k.Tenant == tenant {
			n++
		}
	}
	return n
}

// largest is the tenant with the most rewards that nobody uses.
func (d *Desk[R]) largest() (tenant string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	idle := map[string]int{}
	for k, o := range d.open {
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
func (d *Desk[R]) evict(tenant string) bool {
	var oldest *Opened[R]
	d.mu.Lock()
	for k, o := range d.open {
		if k.Tenant == tenant && o.users == 0 && (oldest == nil || o.used.Before(oldest.used)) {
			oldest = o
		}
	}
	d.mu.Unlock()
	if oldest == nil {
		return false
	}
	gone := false
	d.drop(func(o *Opened[R]) bool {
		if o == oldest && o.users == 0 {
			gone = true
		}
		return o == oldest && gone
	})
	return gone
}

// sweepNowAndThen closes what nobody has used for a while.
func (d *Desk[R]) sweepNowAndThen() {
	tick := time.NewTicker(max(d.config.Idle/8, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-d.life.Done():
			return
		case <-tick.C:
			before := d.now().Add(-d.config.Idle)
			d.drop(func(o *Opened[R]) bool { return o.users == 0 && o.used.Before(before) })
		}
	}
}
