package train

import "time"

// watch measures the stages of an iteration. What it measures goes into "time"
// fields and nowhere else.
type watch struct{ begin, last time.Time }

func startWatch() *watch {
	now := time.Now()
	return &watch{begin: now, last: now}
}

// lap adds the seconds since the last lap to stage.
func (w *watch) lap(stage *float64) {
	now := time.Now()
	*stage += now.Sub(w.last).Seconds()
	w.last = now
}

// total puts the seconds since the start into stage.
func (w *watch) total(stage *float64) { *stage = time.Since(w.begin).Seconds() }
