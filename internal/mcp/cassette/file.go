package cassette

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/merit-rl/merit/internal/base/durable"
	"github.com/merit-rl/merit/internal/mcp"
)

// Read reads the file at path.
func Read(path string) (*Tape, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Decode(f)
}

// Recorder adds calls to a file that several processes may write at the same time. Its
// methods may be called by several goroutines.
type Recorder struct {
	path string

	mu    sync.Mutex
	tape  *Tape
	added bool        // by this process
	seen  os.FileInfo // of the file as tape has it
}

// Record opens the file at path for recording; the first call creates it with this head. If
// the file exists, its tools and its match must be those of head.
func Record(path string, head Head) (*Recorder, error) {
	r := &Recorder{path: path, tape: New(head)}
	return r, r.locked(func() error {
		if r.seen != nil {
			return r.fits(head)
		}
		return nil
	})
}

// fits compares what the file and the server say.
func (r *Recorder) fits(head Head) error {
	have := r.tape.Head
	switch {
	case have.Match != head.Match:
		return fmt.Errorf("was recorded with match: %s", have.Match)
	case !reflect.DeepEqual(names(have.Tools), names(head.Tools)):
		return errors.New("was recorded with other tools, or other schemas of them, than the server has now")
	}
	return nil
}

// names returns tools in comparable form.
func names(tools []mcp.Tool) map[string]string {
	all := map[string]string{}
	for _, t := range tools {
		schema, err := mcp.Canonical(t.InputSchema)
		if err != nil { // both were decoded from JSON
			schema = t.InputSchema
		}
		all[t.Name] = string(schema)
	}
	return all
}

// Key is Tape.Key.
func (r *Recorder) Key(after, tool string, arguments json.RawMessage) string {
	return r.Tape().Key(after, tool, arguments)
}

// Find returns the recorded call with a key, or nil.
func (r *Recorder) Find(key string) *Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tape.Find(key)
}

// Add records the answer of a call after the one with the key after. If another process has
// recorded the call meanwhile, Add returns its entry.
func (r *Recorder) Add(after, tool string, arguments json.RawMessage, answer mcp.Result) (e *Entry, err error) {
	return e, r.locked(func() error {
		if after != "" && r.tape.Head.Match == History && r.tape.Find(after) == nil {
			return errors.New("the recording was replaced while it was written")
		}
		if e = r.tape.Find(r.tape.Key(after, tool, arguments)); e != nil {
			return nil
		}
		e = r.tape.entry(after, tool, arguments, answer)
		line := mcp.Marshal(e)
		if len(line) >= MaxLine || r.tape.Len() >= MaxCalls {
			return fmt.Errorf("the recording is full: it has %d calls", r.tape.Len())
		}
		if r.seen == nil {
			line = append(append(mcp.Marshal(r.tape.Head), '\n'), line...)
		}
		r.tape.entries[e.Key], r.added = e, true
		return r.append(line)
	})
}

// Close puts the lines into the order of Encode.
func (r *Recorder) Close() error {
	if !r.added {
		return nil
	}
	r.added = false
	return r.locked(func() error { return durable.Replace(r.path, r.tape.Encode()) })
}

// locked calls do while no other process reads or writes the file, with what the file has.
// The lock is that of the folder, because Close replaces the file.
func (r *Recorder) locked(do func() error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	folder, err := os.Open(filepath.Dir(r.path))
	if err != nil {
		return err
	}
	defer folder.Close() // releases the lock
	if err := unix.Flock(int(folder.Fd()), unix.LOCK_EX); err != nil {
		return err
	}
	if err := r.refresh(); err != nil {
		return err
	}
	return do()
}

// refresh reads the file if it changed.
func (r *Recorder) refresh() error {
	info, err := os.Stat(r.path)
	if errors.Is(err, fs.ErrNotExist) && r.seen == nil {
		return nil
	}
	if err != nil {
		return err
	}
	if r.seen != nil && os.SameFile(info, r.seen) && info.Size() == r.seen.Size() {
		return nil
	}
	tape, err := Read(r.path)
	if err != nil {
		return err
	}
	r.tape, r.seen = tape, info
	return nil
}

// append writes a line.
func (r *Recorder) append(line []byte) error {
	f, err := os.OpenFile(r.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(bytes.Join([][]byte{line, nil}, []byte("\n")))
	info, stat := f.Stat()
	r.seen = info
	return errors.Join(err, stat, f.Close())
}

// Tape returns what is recorded.
func (r *Recorder) Tape() *Tape {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tape
}
