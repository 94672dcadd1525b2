// Package backoff is the one rule of how often a process that dies is started
// again: after a pause that grows, and not for ever if nothing comes of it.
package backoff

import (
	"time"

	"github.com/merit-rl/merit/core/fault"
)

// Config says when to give up.
type Config struct {
	// Most is how many restarts in a row may fail before Merit gives up. The pauses
	// before them are 0.1, 0.4, 1.6 s and so on, up to 10 s.
	Most int `yaml:"most" json:"most" jsonschema:"minimum=0,maximum=100"`
	// Within is the lifetime after which the count of failed restarts begins again,
	// even if the process made no progress.
	Within time.Duration `yaml:"within" json:"within" jsonschema:"exclusiveMinimum=0" hint:"use a positive duration; 1m is the default"`
}

// Default returns 3 restarts, and a minute.
func Default() Config { return Config{Most: 3, Within: time.Minute} }

// Validate returns every problem of c.
func (c Config) Validate() []error {
	return fault.Validate(&c)
}

const (
	firstPause   = 100 * time.Millisecond
	growth       = 4
	longestPause = 10 * time.Second
)

// Budget counts the deaths of one process after another. The zero Budget, with
// its Config set, is that of a process which was not started yet.
type Budget struct {
	Config

	deaths int // in a row
	born   time.Time
}

// Started notes that a process has begun to work.
func (b *Budget) Started(now time.Time) { b.born = now }

// Progressed notes that something came of it: a new row begins.
func (b *Budget) Progressed() { b.deaths = 0 }

// Died notes that the process is gone, or could not be started. Again says
// whether it may be started again, after the pause.
func (b *Budget) Died(now time.Time) (pause time.Duration, again bool) {
	if !b.born.IsZero() && now.Sub(b.born) > b.Within {
		b.deaths = 0
	}
	b.born = time.Time{}
	b.deaths++
	pause = firstPause
	for i := 1; i < b.deaths && pause < longestPause; i++ {
		pause *= growth
	}
	return min(pause, longestPause), b.deaths <= b.Most
}

// Deaths is how many there were in a row.
func (b *Budget) Deaths() int { return b.deaths }
