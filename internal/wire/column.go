package wire

import (
	"encoding/binary"
	"math"
	"unicode/utf8"
)

var le = binary.LittleEndian

// resize returns s with length n. It keeps the memory of s if that is large
// enough.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// length checks a column of n rows of size bytes.
func length(where string, column []byte, n, size int) error {
	if len(column) != n*size {
		return broken(where, "the column has %d bytes, not %d rows of %d bytes", len(column), n, size)
	}
	return nil
}

// appendArena appends texts to arena, and the offset where each text ends to
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
	valid := utf8.ValidString(whole) // then every row that ends at a rune boundary is valid
	for i := range texts {
		end := int(le.Uint32(ends[4*i:]))
		switch {
		case end < start || end > len(whole):
			return broken(where, "row %d ends at byte %d, outside %d to %d", i, end, start, len(whole))
		case end-start > MaxText:
			return broken(where, "row %d has %d bytes, more than %d", i, end-start, MaxText)
		}
		texts[i] = whole[start:end]
		cut := end < len(whole) && !utf8.RuneStart(whole[end])
		if (cut || !valid) && !utf8.ValidString(texts[i]) {
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

// appendTokens appends token ids.
func appendTokens(dst []byte, ids []int32) []byte {
	for _, id := range ids {
		dst = le.AppendUint32(dst, uint32(id))
	}
	return dst
}

// decodeTokens returns a column of token ids, nil if it is empty.
func decodeTokens(where string, column []byte) ([]int32, error) {
	n := len(column) / 4
	if err := length(where, column, n, 4); err != nil || n == 0 {
		return nil, err
	}
	ids := make([]int32, n)
	for i := range ids {
		if ids[i] = int32(le.Uint32(column[4*i:])); ids[i] < 0 {
			return nil, broken(where, "token %d is %d", i, ids[i])
		}
	}
	return ids, nil
}

// appendFloats appends 32-bit floats.
func appendFloats(dst []byte, values []float32) []byte {
	for _, v := range values {
		dst = le.AppendUint32(dst, math.Float32bits(v))
	}
	return dst
}

// decodeFloats returns a column of n finite 32-bit floats.
func decodeFloats(where string, column []byte, n int) ([]float32, error) {
	if err := length(where, column, n, 4); err != nil {
		return nil, err
	}
	values := make([]float32, n)
	return values, fillFloats(where, column, values)
}

// fillFloats is decodeFloats into existing memory.
func fillFloats(where string, column []byte, values []float32) error {
	if err := length(where, column, len(values), 4); err != nil {
		return err
	}
	for i := range values {
		u := le.Uint32(column[4*i:])
		if u>>23&0xff == 0xff { // the exponent of infinities and NaN
			return broken(where, "value %d is %v", i, math.Float32frombits(u))
		}
		values[i] = math.Float32frombits(u)
	}
	return nil
}

// roundoff is how far above 0 the logarithm of a probability may be, because engines
// compute it as a difference of 32-bit floats.
const roundoff = 1e-4

// logProbability checks v and removes its rounding error.
func logProbability(where string, v float64) (float64, error) {
	if !finite(v) || v > roundoff {
		return 0, broken(where, "%v is not the logarithm of a probability", v)
	}
	return min(v, 0), nil
}
