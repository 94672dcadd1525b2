package queue

import (
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/nats-io/nats.go"

	"github.com/merit-rl/merit/internal/base/strictjson"
)

// roster tracks the workers of a coordinator from their state reports.
type roster struct {
	build, label string
	beat         time.Duration
	barred       func(name, key string) bool // reports whether a worker is excluded
	dismiss      func(Worker)                // tells a worker to drain

	mutex   sync.Mutex
	workers map[string]seen // by subject, because several keys may claim a name
	since   time.Time       // since when no worker is connected; zero if one is
	counted time.Time       // when the slots were last counted
	free    int             // result of that count

	gone     map[string]bool // workers that stopped for good, whatever they reported before
	hopeless error           // why no worker is expected; nil if one may join
}

// recount is the largest age of a count of slots. The count is needed for every shard and
// visits all workers.
const recount = 50 * time.Millisecond

type seen struct {
	Worker
	at time.Time
}

// maxWorkers is the largest number of workers that a coordinator tracks.
const maxWorkers = 1 << 16

// follow subscribes to workers' reports and asks the connected workers for one.
func (w *roster) follow(c *conn) error {
	w.build, w.label, w.beat, w.workers, w.since = c.Build, c.Label, c.Timings.Beat, map[string]seen{}, time.Now()
	if _, err := c.nc.Subscribe("merit.worker.>", w.hear); err != nil {
		return err
	}
	return c.nc.Publish("merit.control.all", []byte("speak"))
}

func (w *roster) hear(m *nats.Msg) {
	who, err := decodeWorker(m.Subject, m.Data)
	if err != nil || redirected(m) {
		return // not a valid worker of this fleet
	}
	barred := w.barred(who.Name, who.Key)
	w.mutex.Lock()
	defer w.mutex.Unlock()
	_, known := w.workers[m.Subject]
	switch {
	case barred:
		if !who.Drains && who.Slots > 0 { // it was restarted or did not receive the command
			w.dismiss(who)
		}
	case !w.gone[who.Name] && (known || len(w.workers) < maxWorkers):
		w.workers[m.Subject] = seen{who, time.Now()}
	}
}

// abandon marks workers as stopped for good, whatever they last reported, and records why no
// other worker is expected.
func (w *roster) abandon(workers []string, why error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.gone, w.hopeless, w.counted = map[string]bool{}, why, time.Time{}
	for _, name := range workers {
		w.gone[name] = true
	}
	maps.DeleteFunc(w.workers, func(_ string, s seen) bool { return w.gone[s.Name] })
}

// hope returns why no worker is connected and none is expected, or nil. It returns nil again
// once a worker joins.
func (w *roster) hope() error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.hopeless
}

// slots returns how many shards can be computed at the same time, and, if that is 0, since
// when.
func (w *roster) slots() (n int, since time.Time) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	now := time.Now()
	if now.Sub(w.counted) < recount {
		return w.free, w.since
	}
	for name, s := range w.workers {
		switch {
		case now.Sub(s.at) > 4*w.beat:
			delete(w.workers, name)
		case !s.Drains && s.Build == w.build && (w.label == "" || slices.Contains(s.Labels, w.label)):
			n += s.Slots
		}
	}
	switch {
	case n > 0:
		w.since, w.hopeless = time.Time{}, nil
	case w.since.IsZero():
		w.since = now
	}
	w.counted, w.free = now, n
	return n, w.since
}

// exclude removes the workers with a key or name and returns them.
func (w *roster) exclude(worker string) (all []Worker) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.counted = time.Time{}
	for subject, s := range w.workers {
		if s.Name == worker || s.Key == worker {
			all = append(all, s.Worker)
			delete(w.workers, subject)
		}
	}
	return all
}

// others returns the build of a worker whose build differs from the coordinator's, or "".
func (w *roster) others() string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, s := range w.workers {
		if s.Build != w.build {
			return s.Build
		}
	}
	return ""
}

// decodeWorker decodes and checks a worker's report.
func decodeWorker(subject string, data []byte) (w Worker, err error) {
	if err := strictjson.Unmarshal(data, &w); err != nil {
		return w, err
	}
	return w, checkWorker(subject, w, len(data))
}

// checkWorker returns an error if a worker's report exceeds limits or contradicts its subject.
func checkWorker(subject string, w Worker, size int) error {
	switch {
	case size > 8<<10 || len(w.Host) > 256 || !utf8.ValidString(w.Host) || len(w.Labels) > 32 || len(w.Key) > 64:
		return errors.New("the report is too long")
	case !named(w.Name) || subject != ofWorker("worker", w.Key, w.Name):
		return errors.New("the report is about another worker")
	case !Word(w.Build) || strings.ContainsFunc(w.Key, func(r rune) bool { return r > 'z' || r < '0' }):
		return errors.New("the build or key is invalid")
	case w.Slots < 0 || w.Slots > 4096 || w.Busy < 0 || w.Busy > w.Slots || math.IsNaN(w.Seconds) || math.IsInf(w.Seconds, 0) || w.Seconds < 0:
		return errors.New("a number is out of range")
	}
	if slices.ContainsFunc(w.Labels, func(l string) bool { return !Word(l) }) {
		return errors.New("a label is invalid")
	}
	return nil
}
