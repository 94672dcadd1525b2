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

// Ledger is the accounting file of a server, JSON lines: one for each key and
// interval in which something was done. It is safe for concurrent use.
type Ledger struct {
	path     string
	registry *Registry

	mu    sync.Mutex
	file  *os.File
	end   int64 // of the whole lines
	from  time.Time
	known map[[2]string]Usage // what the file has of this process
}

// entryLine is a line of the file.
type entryLine struct {
	Usage
	// Carried says that the line sums up files before this one: it is for the
	// totals of a server, and no use of its interval.
	Carried bool `json:"carried,omitempty"`
}

// OpenLedger opens the accounting file at path, or makes it, and gives the
// registry what it has counted: totals survive a restart. A line that was torn
// when a machine died is cut off.
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

// open opens the file and returns what it counts.
func (l *Ledger) open() (tally, error) {
	f, err := os.OpenFile(l.path, os.O_RDWR|os.O_CREATE, 0o640)
	if err != nil {
		return nil, cannotWrite(l.path, err)
	}
	before, end, err := newTally(), int64(0), unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err != nil {
		err = &fault.Error{Boundary: fault.Storage, Kind: fault.Refused, Where: l.path, What: "another server keeps its accounts here", Err: err, Hint: "give each server an accounting file of its own"}
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

// Record writes what was done since it was last called, and syncs the file.
// After an error nothing is written, and the next call writes it all.
func (l *Ledger) Record() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.record(time.Now())
}

func (l *Ledger) record(now time.Time) error {
	all := l.registry.counted()
	from, to := l.from.UTC(), now.UTC()
	if to.Before(from) { // the clock was set back
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

// Keep records every interval until ctx ends. What cannot be written is told to
// failed and tried again with the next interval.
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

// Reopen opens the file at the path again, for a program that rotates it by
// renaming: the old file gets what was done so far, and the new one begins with
// the totals.
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
	if len(found) > 0 { // it is another's: it stays as it is
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

// current reports whether the path leads to the file that is open.
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

// Close records what is left and closes the file.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.record(time.Now()), l.file.Close())
}

var _ io.Closer = (*Ledger)(nil)
