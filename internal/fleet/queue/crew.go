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

// crew is who works for a coordinator, by what workers say of themselves.
type crew struct {
	build, label string
	beat         time.Duration
	barred       func(name, key string) bool // whether a worker is excluded
	dismiss      func(Worker)                // tells it to go

	mutex   sync.Mutex
	workers map[string]seen // by subject: a name may be claimed by several keys
	since   time.Time       // the first time that nobody was there; zero while somebody is
	counted time.Time       // when slots were counted last
	free    int             // what the count came to

	gone     map[string]bool // workers that ended for good, whatever they said before
	hopeless error           // why nobody is to be expected; nil while somebody may come
}

// recount is how old a count of slots may be: it is asked for with every shard,
// and walks over all workers.
const recount = 50 * time.Millisecond

type seen struct {
	Worker
	at time.Time
}

// maxCrew bounds how many workers a coordinator knows at one time.
const maxCrew = 1 << 16

// follow listens to workers and asks those that are there to speak.
func (w *crew) follow(c *conn) error {
	w.build, w.label, w.beat, w.workers, w.since = c.Build, c.Label, c.Timings.Beat, map[string]seen{}, time.Now()
	if _, err := c.nc.Subscribe("merit.worker.>", w.hear); err != nil {
		return err
	}
	return c.nc.Publish("merit.control.all", []byte("speak"))
}

func (w *crew) hear(m *nats.Msg) {
	who, err := decodeWorker(m.Subject, m.Data)
	if err != nil || redirected(m) {
		return // whoever it is does not do the work of this fleet
	}
	barred := w.barred(who.Name, who.Key)
	w.mutex.Lock()
	defer w.mutex.Unlock()
	_, known := w.workers[m.Subject]
	switch {
	case barred:
		if !who.Drains && who.Slots > 0 { // it was started again, or does not listen
			w.dismiss(who)
		}
	case !w.gone[who.Name] && (known || len(w.workers) < maxCrew):
		w.workers[m.Subject] = seen{who, time.Now()}
	}
}

// forsake takes workers for ended, what they said last notwithstanding, and notes
// why nobody is to be expected from now on.
func (w *crew) forsake(workers []string, why error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.gone, w.hopeless, w.counted = map[string]bool{}, why, time.Time{}
	for _, name := range workers {
		w.gone[name] = true
	}
	maps.DeleteFunc(w.workers, func(_ string, s seen) bool { return w.gone[s.Name] })
}

// hope returns why nobody is there and nobody is to be expected, or nil. Once
// somebody comes all the same, somebody may come again.
func (w *crew) hope() error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.hopeless
}

// slots returns how many shards can be computed at one time, and since when
// nobody is there to compute any.
func (w *crew) slots() (n int, since time.Time) {
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

// exclude takes the workers that a key or name stands for out of those who are
// there, and returns them.
func (w *crew) exclude(worker string) (all []Worker) {
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

// others returns a build that workers have and this coordinator has not, if
// there is one.
func (w *crew) others() string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, s := range w.workers {
		if s.Build != w.build {
			return s.Build
		}
	}
	return ""
}

// decodeWorker reads what a worker said of itself on subject.
func decodeWorker(subject string, data []byte) (w Worker, err error) {
	if err := strictjson.Unmarshal(data, &w); err != nil {
		return w, err
	}
	return w, checkWorker(subject, w, len(data))
}

// checkWorker holds what a worker said of itself to bounds.
func checkWorker(subject string, w Worker, size int) error {
	switch {
	case size > 8<<10 || len(w.Host) > 256 || !utf8.ValidString(w.Host) || len(w.Labels) > 32 || len(w.Key) > 64:
		return errors.New("it is too long")
	case !named(w.Name) || subject != ofWorker("worker", w.Key, w.Name):
		return errors.New("it speaks for another")
	case !Word(w.Build) || strings.ContainsFunc(w.Key, func(r rune) bool { return r > 'z' || r < '0' }):
		return errors.New("its build or key is none")
	case w.Slots < 0 || w.Slots > 4096 || w.Busy < 0 || w.Busy > w.Slots || math.IsNaN(w.Seconds) || math.IsInf(w.Seconds, 0) || w.Seconds < 0:
		return errors.New("its numbers are none")
	}
	if slices.ContainsFunc(w.Labels, func(l string) bool { return !Word(l) }) {
		return errors.New("a label is none")
	}
	return nil
}
