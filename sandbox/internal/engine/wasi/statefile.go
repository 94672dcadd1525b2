package wasi

import (
	"encoding/binary"
	"errors"
	"math"
)

// ErrState means that an encoded State is none.
var ErrState = errors.New("the clock, the random numbers or the open files are not valid")

// Append encodes the state: the clock, the random numbers, the number of descriptors
// in 32 bits, and for each the number of its node plus one, or 0, and its offset. All
// but the count have 64 bits.
func (s *State) Append(out []byte) []byte {
	out = binary.LittleEndian.AppendUint64(out, s.Elapsed)
	out = binary.LittleEndian.AppendUint64(out, s.Random)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(s.open)))
	for _, h := range s.open {
		id := uint64(0)
		if h.node != nil {
			id = h.node.id + 1
		}
		out = binary.LittleEndian.AppendUint64(out, id)
		out = binary.LittleEndian.AppendUint64(out, h.offset)
	}
	return out
}

// ReadState decodes what Append encoded, from a function that fills a buffer. Open
// files are those of f, which may be nil. The error is ErrState or that of read.
func ReadState(read func([]byte) error, f *Files) (s State, err error) {
	take := func(bytes int) (v uint64) {
		var b [8]byte
		if err == nil {
			err = read(b[:bytes])
		}
		return binary.LittleEndian.Uint64(b[:])
	}
	s.Elapsed, s.Random = take(8), take(8)
	count := take(4)
	if count > maxHandles {
		return s, ErrState
	}
	for range count {
		id, offset := take(8), take(8)
		if err != nil {
			return s, err
		}
		h := handle{offset: offset}
		if id > 0 {
			if h.node = f.byID(id - 1); h.node == nil || offset > math.MaxInt64 {
				return s, ErrState
			}
		}
		s.open = append(s.open, h)
	}
	return s, err
}

// Weight is about how much memory the open files of the state take, in bytes.
func (s *State) Weight() int { return 16 * len(s.open) }
