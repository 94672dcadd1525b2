package engine

import (
	"encoding/binary"
	"errors"

	"github.com/merit-rl/merit/sandbox/internal/engine/memory"
)

var errStateFile = errors.New("not a state")

// Pieces encodes the state, in pieces that follow each other: clock, random numbers, the
// globals and the size of the memory, each as 64-bit numbers after their count, and then the
// pages that are not zero, in runs with the number of their first page and their length. The
// pages are those of the state. It returns false if the state cannot be stored because files
// are open.
func (s *State) Pieces() (pieces [][]byte, ok bool) {
	if s.system.HasOpen() {
		return nil, false
	}
	numbers := append([]uint64{s.system.Elapsed, s.system.Random, uint64(len(s.globals))}, s.globals...)
	if s.memory == nil {
		return [][]byte{words(numbers...)}, true
	}
	pieces = append(pieces, words(append(numbers, uint64(s.memory.Size()))...))
	for _, r := range s.memory.Runs {
		pieces = append(pieces, words(uint64(r.First), uint64(r.Count)), s.memory.Data[r.First*memory.ImagePage:(r.First+r.Count)*memory.ImagePage])
	}
	return pieces, true
}

// words encodes numbers of 64 bits.
func words(numbers ...uint64) (out []byte) {
	for _, v := range numbers {
		out = binary.LittleEndian.AppendUint64(out, v)
	}
	return out
}

// ParseState decodes the joined output of Pieces.
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
	s.system.Elapsed, s.system.Random = take(), take()
	for n := take(); n > 0 && !bad; n-- {
		s.globals = append(s.globals, take())
	}
	if bad || len(data) == 0 {
		return s, stateError(bad)
	}
	size := take()
	if bad || size%memory.PageBytes != 0 || size > maxMemory {
		return nil, errStateFile
	}
	var err error
	if s.memory, err = memory.NewImage(int(size)); err != nil {
		return nil, err
	}
	for len(data) > 0 && !bad {
		first, count := take(), take()
		pages := size / memory.ImagePage
		if bad = bad || first > pages || count > pages-first || uint64(len(data)) < count*memory.ImagePage; !bad {
			s.memory.Write(int(first), data[:count*memory.ImagePage])
			data = data[count*memory.ImagePage:]
		}
	}
	if bad {
		s.Close()
	}
	return s, stateError(bad)
}

// maxMemory is the size of 65,536 pages.
const maxMemory = 1 << 32

func stateError(bad bool) error {
	if bad {
		return errStateFile
	}
	return nil
}
