package tenant

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/merit-rl/merit/core/fault"
)

// Ledger is the accounting file of a server. It consists of JSON lines, one for each key and
// interval with any activity. It is safe for concurrent use.
type Ledger struct {
	path     string
	registry *Registry

	mu    sync.Mutex
	file  *os.File
	end   int64 // offset of the end of the last whole line
	from  time.Time
	known map[[2]string]Usage // what the file contains of this process
}

// entryLine is a line of the file.
type entryLine struct {
	Usage
	// Carried means that the line sums up earlier files. It counts toward the server's totals,
	// but not as usage of its interval.
	Carried bool `json:"carried,omitempty"`
}

// OpenLedger opens or creates the accounting file at path and passes its totals to the
// registry, so that they survive a restart. It cuts off an incomplete last line, which a
// machine that crashed may have left.
func OpenLedger(path string, r *Registry) (*Ledger, error) {
	l := &Ledger{path: path, registry: r, from: time.Now(), known: map[[2]string]Usage{}}
	before, err := l.open()
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.past = map[[2]string]Usage{}
	for id, u := range before {
		r.past[id] = *u
	}
	return l, nil
}

// open opens the file and returns its totals.
func (l *Ledger) open() (tally, error) {
	f, err := os.OpenFile(l.path, os.O_RDWR|os.O_CREATE, 0o640)
	if err != nil {
		return nil, cannotWrite(l.path, err)
	}
	before, end, err := newTally(), int64(0), unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err != nil {
		err = &fault.Error{Boundary: fault.Storage, Kind: fault.Refused, Where: l.path, What: "another server uses this accounting file", Err: err, Hint: "use a different accounting file for each server"}
	} else {
		end, err = readLedger(l.path, f, func(line entryLine) { before.add(line.Usage) })
	}
	if err == nil {
		err = f.Truncate(end)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	l.file, l.end = f, end
	return before, nil
}

// Record writes what happened since its last successful call and syncs the file. After an
// error, nothing is written, and the next call writes everything.
func (l *Ledger) Record() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.record(time.Now())
}

func (l *Ledger) record(now time.Time) error {
	all := l.registry.counted()
	from, to := l.from.UTC(), now.UTC()
	if to.Before(from) { // the clock went back
		to = from
	}
	var text []byte
	for id, u := range all {
		if u = u.since(l.known[id]); u.empty() {
			continue
		}
		u.From, u.To = from, to
		line, err := json.Marshal(entryLine{Usage: u})
		if err != nil {
			return err
		}
		text = append(append(text, line...), '\n')
	}
	if err := l.append(text); err != nil {
		return err
	}
	l.from, l.known = now, all
	return nil
}

// append writes whole lines, or nothing.
func (l *Ledger) append(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	_, err := l.file.WriteAt(text, l.end)
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		_ = l.file.Truncate(l.end)
		return cannotWrite(l.path, err)
	}
	l.end += int64(len(text))
	return nil
}

// Keep calls Record at every interval until ctx is canceled. It passes errors to failed and
// tries again at the next interval.
func (l *Ledger) Keep(ctx context.Context, every time.Duration, failed func(error)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := l.Record(); err != nil {
				failed(err)
			}
		}
	}
}

// Reopen opens the file at the path again, for a program that rotates it by renaming. The old
// file gets all usage so far, and the new one begins with the totals.
func (l *Ledger) Reopen() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.record(time.Now()); err != nil {
		return err
	}
	same, err := l.current()
	if err != nil || same {
		return err
	}
	old := l.file
	found, err := l.open()
	if err != nil {
		l.file = old
		return err
	}
	old.Close()
	if len(found) > 0 { // another server's file; leave it unchanged
		return nil
	}
	var text []byte
	for _, u := range l.registry.Usage() {
		line, err := json.Marshal(entryLine{u, true})
		if err != nil {
			return err
		}
		text = append(append(text, line...), '\n')
	}
	return l.append(text)
}

// current reports whether the path refers to the open file.
func (l *Ledger) current() (bool, error) {
	is, err := os.Stat(l.path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	var open os.FileInfo
	if err == nil {
		open, err = l.file.Stat()
	}
	if err != nil {
		return false, cannotWrite(l.path, err)
	}
	return os.SameFile(is, open), nil
}

// Close records the remaining usage and closes the file.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.record(time.Now()), l.file.Close())
}

var _ io.Closer = (*Ledger)(nil)
