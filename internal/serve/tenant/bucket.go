package tenant

import (
	"math"
	"time"
)

// bucket is a token bucket. It fills at a rate, up to the amount of one second but at least 1.
// Taking more than it holds is allowed and leaves a debt: a negative level. A rate of 0 means
// unlimited.
type bucket struct {
	rate  float64 // per second
	level float64
	at    time.Time // of level
}

func (b *bucket) most() float64 { return max(b.rate, 1) }

// set changes the rate. A bucket that was unlimited starts full.
func (b *bucket) set(rate float64) {
	if now := time.Now(); b.rate > 0 {
		b.fill(now)
	} else {
		b.level, b.at = math.Inf(1), now
	}
	b.rate = rate
	b.level = min(b.level, b.most())
}

func (b *bucket) fill(now time.Time) {
	if passed := now.Sub(b.at).Seconds(); passed > 0 {
		b.level, b.at = min(b.level+passed*b.rate, b.most()), now
	}
}

// wait returns how long it takes until the bucket holds least, or 0 if it does.
func (b *bucket) wait(now time.Time, least float64) time.Duration {
	if b.rate == 0 {
		return 0
	}
	b.fill(now)
	if b.level >= least {
		return 0
	}
	return time.Duration(math.Ceil(min((least-b.level)/b.rate*1e9, math.MaxInt64/2)))
}

func (b *bucket) take(now time.Time, amount float64) {
	if b.rate > 0 {
		b.fill(now)
		b.level -= amount
	}
}
