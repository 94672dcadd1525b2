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
	valid := utf8.ValidString(whole) // and so is every row that ends where a rune does
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

// appendFloats appends numbers of 32 bits.
func appendFloats(dst []byte, values []float32) []byte {
	for _, v := range values {
		dst = le.AppendUint32(dst, math.Float32bits(v))
	}
	return dst
}

// decodeFloats returns a column of n finite numbers of 32 bits.
func decodeFloats(where string, column []byte, n int) ([]float32, error) {
	if err := length(where, column, n, 4); err != nil {
		return nil, err
	}
	values := make([]float32, n)
	return values, fillFloats(where, column, values)
}

// fillFloats is decodeFloats into memory that is there.
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

// roundoff is by how much a logarithm of a probability may be above 0: engines
// compute it as a difference of numbers of 32 bits.
const roundoff = 1e-4

// logProbability checks v and takes its error of rounding away.
func logProbability(where string, v float64) (float64, error) {
	if !finite(v) || v > roundoff {
		return 0, broken(where, "%v is no logarithm of a probability", v)
	}
	return min(v, 0), nil
}
