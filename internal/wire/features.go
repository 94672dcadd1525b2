package wire

import (
	"math"

	pb "github.com/merit-rl/merit/internal/wire/proto"
)

// Small networks mostly read planes of 0 and 1. These are sent as bits: 1/32 of the
// bytes, and faster on both sides than copying the floats.
const one = 0x3f800000 // the bits of float32(1)

// spread holds the eight features of every byte, lowest bit first.
var spread = func() (t [256][8]float32) {
	for b := range t {
		for i := range t[b] {
			t[b][i] = float32(b >> i & 1)
		}
	}
	return t
}()

// appendFeatures appends rows of width values, in the smaller of the lossless
// encodings.
func appendFeatures(dst []byte, values []float32, width int) ([]byte, pb.FeatureEncoding) {
	if packed, ok := appendBits(dst, values, width); ok {
		return packed, pb.FeatureEncoding_FEATURES_BITS
	}
	for _, v := range values {
		dst = le.AppendUint32(dst, math.Float32bits(v))
	}
	return dst, pb.FeatureEncoding_FEATURES_F32
}

// appendBits returns false, and appends nothing, if a value is neither 0 nor 1.
func appendBits(dst []byte, values []float32, width int) ([]byte, bool) {
	start := len(dst)
	for ; len(values) > 0; values = values[width:] {
		row, other := values[:width], uint32(0)
		for len(row) >= 8 {
			b, o := packEight((*[8]float32)(row))
			dst, other, row = append(dst, b), other|o, row[8:]
		}
		if len(row) > 0 {
			var last [8]float32
			copy(last[:], row)
			b, o := packEight(&last)
			dst, other = append(dst, b), other|o
		}
		if other != 0 {
			return dst[:start], false
		}
	}
	return dst, true
}

// packEight returns eight values as bits. other is not 0 if a value is neither
// 0 nor 1. Planes are mostly zero, so it checks for that first.
func packEight(v *[8]float32) (packed byte, other uint32) {
	u0, u1, u2, u3 := math.Float32bits(v[0]), math.Float32bits(v[1]), math.Float32bits(v[2]), math.Float32bits(v[3])
	u4, u5, u6, u7 := math.Float32bits(v[4]), math.Float32bits(v[5]), math.Float32bits(v[6]), math.Float32bits(v[7])
	some := u0 | u1 | u2 | u3 | u4 | u5 | u6 | u7
	if some == 0 {
		return 0, 0
	}
	// The set bits of float32(1) are consecutive. No other bit may be set, and each
	// of them must equal the bit below it.
	mixed := (u0 ^ u0<<1) | (u1 ^ u1<<1) | (u2 ^ u2<<1) | (u3 ^ u3<<1) |
		(u4 ^ u4<<1) | (u5 ^ u5<<1) | (u6 ^ u6<<1) | (u7 ^ u7<<1)
	b := u0>>29&1 | u1>>28&2 | u2>>27&4 | u3>>26&8 | u4>>25&16 | u5>>24&32 | u6>>23&64 | u7>>22&128
	return byte(b), some&^one | mixed&(one&(one<<1))
}

// decodeFeatures fills rows of width values from a column.
func decodeFeatures(column []byte, encoding pb.FeatureEncoding, values []float32, width int) error {
	rows := len(values) / width
	switch encoding {
	case pb.FeatureEncoding_FEATURES_F32:
		return fillFloats("features", column, values)
	case pb.FeatureEncoding_FEATURES_BITS:
		size := (width + 7) / 8
		if err := length("features", column, rows, size); err != nil {
			return err
		}
		for r := range rows {
			decodeBits(column[r*size:(r+1)*size], values[r*width:(r+1)*width])
		}
		return nil
	}
	return broken("feature_encoding", "unknown encoding %d", encoding)
}

func decodeBits(row []byte, values []float32) {
	for len(values) >= 8 {
		*(*[8]float32)(values) = spread[row[0]]
		values, row = values[8:], row[1:]
	}
	if len(values) > 0 {
		copy(values, spread[row[0]][:])
	}
}
