package engine

import (
	"encoding/binary"
	"errors"
	"unicode/utf16"
)

// maxAbortText limits the message of env.abort, in bytes.
const maxAbortText = 2048

var errAbort = errors.New("abort() was called")

// abort implements AssemblyScript's env.abort(message, file, line, column).
// Strings are UTF-16 with their size in bytes before them.
func (i *Instance) abort(p []uint64) {
	s := &Stop{Kind: Trap, Text: errAbort.Error()}
	if text := i.utf16(uint32(p[0])); text != "" {
		s.Text += ": " + text
	}
	i.end(s)
}

// utf16 reads a string object of AssemblyScript, or "".
func (i *Instance) utf16(ptr uint32) string {
	if ptr < 4 {
		return ""
	}
	head, ok := i.Bytes(ptr-4, 4)
	if !ok {
		return ""
	}
	b, ok := i.Bytes(ptr, min(binary.LittleEndian.Uint32(head), maxAbortText)&^1)
	if !ok {
		return ""
	}
	units := make([]uint16, len(b)/2)
	for n := range units {
		units[n] = binary.LittleEndian.Uint16(b[2*n:])
	}
	return string(utf16.Decode(units))
}
