// Package wire is how the host and a worker process speak over a pipe: frames
// with a length, and inside them requests and answers in a compact binary
// form. Both ends hold what they read to be hostile: every length is checked
// against what is there before anything is allocated.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Kind says what a frame holds.
type Kind byte

// The kinds. The host sends Hello, Load, Unload, Evaluate and Cancel; the
// worker answers Hello with Ready, Load with Loaded or Refused, and Evaluate
// with Result or Wanted. Unload and Cancel have no answer. Notes may come before
// any answer.
const (
	Hello    Kind = iota + 1 // JSON of the configuration
	Ready                    // JSON of what the wall is made of
	Load                     // a module
	Loaded                   // JSON of what the module says about itself
	Refused                  // JSON of a fault
	Unload                   // the number of a module
	Evaluate                 // a Request
	Result                   // an Answer
	Cancel                   // ends the evaluation of the same sequence number
	Wanted                   // the language of a program that cannot be loaded any more
	Note                     // a Message for the log
)

// HeaderSize is the size of a frame's header:
//
//	0 u32  length of the payload
//	4 u32  sequence number; an answer has that of its question
//	8 u8   kind
//	9 u8×3 "MRT"
const HeaderSize = 12

const mark = "MRT"

// ErrFrame says that what came is not a frame, or one that is too long.
var ErrFrame = errors.New("not a frame of a sandbox worker")

// Frame is one message. Its payload is valid until the next Read into the
// same buffer.
type Frame struct {
	Kind    Kind
	Seq     uint32
	Payload []byte
}

// Begin starts a frame in buf, which is used again.
func Begin(buf []byte, kind Kind, seq uint32) []byte {
	buf = append(buf[:0], 0, 0, 0, 0, 0, 0, 0, 0, byte(kind))
	binary.LittleEndian.PutUint32(buf[4:], seq)
	return append(buf, mark...)
}

// End completes a frame, whose payload was appended after Begin.
func End(buf []byte) []byte {
	binary.LittleEndian.PutUint32(buf, uint32(len(buf)-HeaderSize))
	return buf
}

// Read reads a frame whose payload has at most limit bytes; it uses buf again
// and returns it, grown if need be.
func Read(r io.Reader, buf []byte, limit int) (Frame, []byte, error) {
	var header [HeaderSize]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return Frame{}, buf, err
	}
	size := binary.LittleEndian.Uint32(header[:])
	if string(header[9:]) != mark {
		return Frame{}, buf, ErrFrame
	}
	if uint64(size) > uint64(limit) {
		return Frame{}, buf, fmt.Errorf("%w: %d bytes, at most %d", ErrFrame, size, limit)
	}
	buf, err := readAll(r, buf[:0], int(size))
	return Frame{Kind(header[8]), binary.LittleEndian.Uint32(header[4:]), buf}, buf, err
}

// readAll reads size bytes and allocates for them as they come, not before.
func readAll(r io.Reader, buf []byte, size int) ([]byte, error) {
	const step = 1 << 20
	for len(buf) < size {
		n := min(size-len(buf), step)
		at := len(buf)
		buf = append(buf, make([]byte, n)...)
		if _, err := io.ReadFull(r, buf[at:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return buf, err
		}
	}
	return buf, nil
}
