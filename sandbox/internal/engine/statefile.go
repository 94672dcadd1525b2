package engine

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// contentFile is the only file of an entry that Keep makes.
const contentFile = "content"

// Keep puts content into the cache under a name, for Recall by the same build
// of the program: what host functions gave to a guest is part of a state.
func (e *Engine) Keep(name string, content []byte) {
	key, ok := e.keepKey(name)
	if !ok {
		return
	}
	dir := e.cache.scratch()
	defer os.RemoveAll(dir)
	if dir != "" && os.WriteFile(filepath.Join(dir, contentFile), content, 0o600) == nil {
		e.cache.keep(key, dir)
	}
}

// Recall returns what was kept under a name, or nil.
func (e *Engine) Recall(name string) []byte {
	key, ok := e.keepKey(name)
	if !ok {
		return nil
	}
	dir, ok := e.cache.find(key)
	if !ok {
		return nil
	}
	content, err := os.ReadFile(filepath.Join(dir, contentFile))
	if err != nil {
		return nil
	}
	return content
}

func (e *Engine) keepKey(name string) (key string, ok bool) {
	if e.cache == nil || build() == "" {
		return "", false
	}
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "kept %s %s", build(), name))), true
}

var errStateFile = errors.New("not a state")

// Append encodes the state: clock, random numbers, the globals and the size of
// the memory, each as a number of 64 bits with its count before it, and then
// the pages that are not zero with their numbers. It reports false if the
// state cannot be kept, because files are open.
func (s *State) Append(out []byte) ([]byte, bool) {
	for _, h := range s.system.open {
		if h.node != nil {
			return nil, false
		}
	}
	put := func(v uint64) { out = binary.LittleEndian.AppendUint64(out, v) }
	put(s.system.elapsed)
	put(s.system.random)
	put(uint64(len(s.globals)))
	for _, g := range s.globals {
		put(g)
	}
	if s.memory == nil {
		return out, true
	}
	put(uint64(s.memory.size()))
	out = slices.Grow(out, s.memory.size()/statePage*(8+statePage)) // what is not written to is not there
	for n, page := range written(s.memory.data) {
		put(uint64(n))
		out = append(out, page...)
	}
	return out, true
}

// ParseState decodes what Append wrote.
func ParseState(data []byte) (*State, error) {
	s, bad := &State{}, false
	take := func() uint64 {
		if len(data) < 8 {
			bad = true
			return 0
		}
		v := binary.LittleEndian.Uint64(data)
		data = data[8:]
		return v
	}
	s.system.elapsed, s.system.random = take(), take()
	for n := take(); n > 0 && !bad; n-- {
		s.globals = append(s.globals, take())
	}
	if bad || len(data) == 0 {
		return s, stateError(bad)
	}
	size := take()
	if bad || size%pageBytes != 0 || size > maxMemory {
		return nil, errStateFile
	}
	var err error
	if s.memory, err = newImage(int(size)); err != nil {
		return nil, err
	}
	for len(data) > 0 && !bad {
		n := take()
		if bad = bad || n >= size/statePage || len(data) < statePage; !bad {
			copy(s.memory.data[n*statePage:], data[:statePage])
			data = data[statePage:]
		}
	}
	if bad {
		s.Close()
	}
	return s, stateError(bad)
}

// maxMemory is what 65,536 pages hold.
const maxMemory = 1 << 32

func stateError(bad bool) error {
	if bad {
		return errStateFile
	}
	return nil
}
