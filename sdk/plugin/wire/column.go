package wire

import (
	"encoding/binary"
	"math"
	"unicode/utf8"
)

var le = binary.LittleEndian

// resize returns s with length n, keeping its memory if there is enough.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// length checks a column of n rows of size bytes.
func length(where string, column []byte, n, size int) error {
	if len(column) != n*size {
		return broken(where, "column has %d bytes, not %d rows of %d", len(column), n, size)
	}
	return nil
}

// appendArena appends texts one behind the other and, to ends, where each one
// ends.
func appendArena(arena, ends []byte, texts []string) (newArena, newEnds []byte) {
	for _, s := range texts {
		arena = append(arena, s...)
		ends = le.AppendUint32(ends, uint32(len(arena)))
	}
	return arena, ends
}

// decodeArena is the inverse of appendArena. The texts share one allocation.
func decodeArena(where string, arena, ends []byte, texts []string) error {
	if err := length(where+"_end", ends, len(texts), 4); err != nil {
		return err
	}
	whole, start := string(arena), 0
	for i := range texts {
		end := int(le.Uint32(ends[4*i:]))
		switch {
		case end < start || end > len(whole):
			return broken(where, "row %d ends at byte %d, outside %d to %d", i, end, start, len(whole))
		case end-start > MaxText:
			return broken(where, "row %d has %d bytes, more than %d", i, end-start, MaxText)
		}
		texts[i] = whole[start:end]
		if !utf8.ValidString(texts[i]) {
			return broken(where, "row %d is not UTF-8", i)
		}
		start = end
	}
	if start != len(whole) {
		return broken(where, "%d bytes belong to no row", len(whole)-start)
	}
	return nil
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
