package columns

import (
	"encoding/binary"
	"errors"

	"github.com/parquet-go/parquet-go/encoding/thrift"
)

// Limits for decoding Thrift's compact protocol.
const (
	maxThriftDepth   = 16
	maxThriftStructs = 1 << 18 // in lists: each takes up to a kilobyte once decoded
	maxThriftOthers  = 1 << 22
)

var (
	errShort   = errors.New("it ends too early")
	errCrowded = errors.New("it has too many elements")
	errDeep    = errors.New("it is nested too deeply")
	errStrange = errors.New("it has an unknown type")
)

// measure checks a struct in the compact protocol without allocating, because a decoder
// that trusts the size of a list would allocate memory first.
type measure struct {
	b               []byte
	i               int
	structs, others int
}

// decode decodes the struct at the start of b into v, and returns its length.
func decode(b []byte, v any) (int, error) {
	m := measure{b: b}
	if err := m.structure(0); err != nil {
		return 0, err
	}
	return m.i, thrift.Unmarshal(new(thrift.CompactProtocol), b[:m.i], v)
}

func (m *measure) byte() (byte, error) {
	if m.i >= len(m.b) {
		return 0, errShort
	}
	m.i++
	return m.b[m.i-1], nil
}

func (m *measure) varint() (uint64, error) {
	x, n := binary.Uvarint(m.b[m.i:])
	if n <= 0 {
		return 0, errShort
	}
	m.i += n
	return x, nil
}

func (m *measure) skip(n uint64) error {
	if n > uint64(len(m.b)-m.i) {
		return errShort
	}
	m.i += int(n)
	return nil
}

func (m *measure) structure(depth int) error {
	for {
		head, err := m.byte()
		if err != nil || head == 0 {
			return err
		}
		if head>>4 == 0 { // the field's full number follows
			if _, err := m.varint(); err != nil {
				return err
			}
		}
		if kind := head & 15; kind == 1 || kind == 2 {
			continue // a bool is in the head
		} else if err := m.value(kind, depth); err != nil {
			return err
		}
	}
}

func (m *measure) value(kind byte, depth int) error {
	if depth > maxThriftDepth {
		return errDeep
	}
	switch kind {
	case 1, 2, 3:
		return m.skip(1)
	case 4, 5, 6:
		_, err := m.varint()
		return err
	case 7:
		return m.skip(8)
	case 8:
		n, err := m.varint()
		if err != nil {
			return err
		}
		return m.skip(n)
	case 9, 10:
		head, err := m.byte()
		if err != nil {
			return err
		}
		n := uint64(head >> 4)
		if n == 15 {
			if n, err = m.varint(); err != nil {
				return err
			}
		}
		return m.list(head&15, n, depth)
	case 11:
		n, err := m.varint()
		if err != nil || n == 0 {
			return err
		}
		kinds, err := m.byte()
		if err != nil {
			return err
		}
		return errors.Join(m.count(2*n), m.pairs(kinds, n, depth))
	case 12:
		return m.structure(depth + 1)
	}
	return errStrange
}

func (m *measure) list(kind byte, n uint64, depth int) error {
	if n > uint64(len(m.b)-m.i) { // each takes at least a byte
		return errShort
	}
	if kind == 12 {
		if m.structs += int(n); m.structs > maxThriftStructs {
			return errCrowded
		}
	} else if err := m.count(n); err != nil {
		return err
	}
	for range n {
		if err := m.value(kind, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (m *measure) count(n uint64) error {
	if n > maxThriftOthers {
		return errCrowded
	}
	if m.others += int(n); m.others > maxThriftOthers {
		return errCrowded
	}
	return nil
}

func (m *measure) pairs(kinds byte, n uint64, depth int) error {
	if n > maxThriftOthers {
		return errCrowded
	}
	for range n {
		if err := m.value(kinds>>4, depth+1); err != nil {
			return err
		}
		if err := m.value(kinds&15, depth+1); err != nil {
			return err
		}
	}
	return nil
}
