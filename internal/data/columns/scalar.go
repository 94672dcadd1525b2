package columns

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/merit-rl/merit/internal/data/table"
)

// meaning is how the values of a column are written as JSON.
type meaning byte

const (
	binary64 meaning = iota // base64
	text
	document // JSON
	boolean
	signed
	unsigned
	single
	double
	half
	decimal
	date
	timeOfDay
	timestamp
	nanoTimestamp // 12 bytes
	uuid
	nothing
)

// maxWidth is the maximum size of fixed-length values in bytes.
const maxWidth = 1 << 20

// newLeaf returns the column of e, or an error if it cannot be read.
func newLeaf(e *format.SchemaElement, rep, def int) (*leaf, error) {
	if !e.Type.Valid {
		return nil, errors.New("has no type")
	}
	l := &leaf{name: e.Name, physical: e.Type.V, maxRep: rep, maxDef: def}
	switch l.physical {
	case format.Boolean:
		l.meaning = boolean
	case format.Int32:
		l.width, l.bits, l.meaning = 4, 32, signed
	case format.Int64:
		l.width, l.bits, l.meaning = 8, 64, signed
	case format.Int96:
		l.width, l.meaning = 12, nanoTimestamp
	case format.Float:
		l.width, l.meaning = 4, single
	case format.Double:
		l.width, l.meaning = 8, double
	case format.ByteArray:
	case format.FixedLenByteArray:
		l.width = int(e.TypeLength.V)
		if l.width < 1 || l.width > maxWidth {
			return nil, fmt.Errorf("has values of %d bytes", l.width)
		}
	default:
		return nil, fmt.Errorf("has the unknown type %d", l.physical)
	}
	return l, l.annotate(e)
}

// annotate reads the logical type.
func (l *leaf) annotate(e *format.SchemaElement) error {
	bytes, number := l.physical == format.ByteArray, l.physical == format.Int32 || l.physical == format.Int64
	fits := true
	switch t := e.LogicalType.Value.(type) {
	case nil:
		return l.convert(e)
	case *format.StringType, *format.EnumType:
		l.meaning, fits = text, bytes
	case *format.JsonType:
		l.meaning, fits = document, bytes
	case *format.BsonType, *format.GeometryType, *format.GeographyType:
		fits = bytes
	case *format.DecimalType:
		return l.decimal(t.Precision, t.Scale)
	case *format.DateType:
		l.meaning, fits = date, l.physical == format.Int32
	case *format.TimeType:
		l.meaning, l.utc, fits = timeOfDay, t.IsAdjustedToUTC, number && t.Unit.Value != nil
		if fits {
			l.unit = t.Unit.Value.Duration()
		}
	case *format.TimestampType:
		l.meaning, l.utc, fits = timestamp, t.IsAdjustedToUTC, l.physical == format.Int64 && t.Unit.Value != nil
		if fits {
			l.unit = t.Unit.Value.Duration()
		}
	case *format.IntType:
		fits = number && (t.BitWidth == 8 || t.BitWidth == 16 || t.BitWidth == 32 || t.BitWidth == 64 && l.physical == format.Int64)
		if l.bits = uint(t.BitWidth); !t.IsSigned {
			l.meaning = unsigned
		}
	case *format.NullType:
		l.meaning = nothing
	case *format.UUIDType:
		l.meaning, fits = uuid, l.width == 16 && l.physical == format.FixedLenByteArray
	case *format.Float16Type:
		l.meaning, fits = half, l.width == 2
	default:
		return fmt.Errorf("has the unsupported type %s", t)
	}
	if !fits {
		return fmt.Errorf("has the type %s, which cannot be stored as %s", e.LogicalType.Value, l.physical)
	}
	return nil
}

// convert reads the older form of logical types.
func (l *leaf) convert(e *format.SchemaElement) error {
	bytes := l.physical == format.ByteArray
	fits := true
	c := converted(e)
	switch c {
	case deprecated.UTF8, deprecated.Enum:
		l.meaning, fits = text, bytes
	case deprecated.Json:
		l.meaning, fits = document, bytes
	case deprecated.Decimal:
		return l.decimal(e.Precision.V, e.Scale.V)
	case deprecated.Date:
		l.meaning, fits = date, l.physical == format.Int32
	case deprecated.TimeMillis:
		l.meaning, l.unit, fits = timeOfDay, time.Millisecond, l.physical == format.Int32
	case deprecated.TimeMicros:
		l.meaning, l.unit, fits = timeOfDay, time.Microsecond, l.physical == format.Int64
	case deprecated.TimestampMillis, deprecated.TimestampMicros:
		l.meaning, l.unit, l.utc, fits = timestamp, time.Millisecond, true, l.physical == format.Int64
		if c == deprecated.TimestampMicros {
			l.unit = time.Microsecond
		}
	case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32:
		l.meaning, l.bits, fits = unsigned, 8<<(c-deprecated.Uint8), l.physical == format.Int32
	case deprecated.Uint64:
		l.meaning, fits = unsigned, l.physical == format.Int64
	case deprecated.Int8, deprecated.Int16, deprecated.Int32:
		l.bits, fits = 8<<(c-deprecated.Int8), l.physical == format.Int32
	case deprecated.Int64:
		fits = l.physical == format.Int64
	case deprecated.Interval:
		return errors.New("has the unsupported type INTERVAL")
	}
	if !fits {
		return fmt.Errorf("has the type %v, which cannot be stored as %s", c, l.physical)
	}
	return nil
}

func (l *leaf) decimal(precision, scale int32) error {
	if scale < 0 || scale > precision || precision > 1<<10 || l.physical == format.Boolean || l.physical == format.Float || l.physical == format.Double {
		return fmt.Errorf("is a decimal with %d digits, %d of them after the point, which cannot be stored as %s", precision, scale, l.physical)
	}
	l.meaning, l.scale = decimal, int(scale)
	return nil
}

// named reports whether the values can be the keys of an object.
func (l *leaf) named() bool {
	return l.meaning == text || l.meaning == signed || l.meaning == unsigned || l.meaning == date || l.meaning == uuid
}

// integer returns an integer with its sign, according to its stored width.
func (l *leaf) integer(bits uint64) int64 {
	if l.physical == format.Int32 {
		return int64(int32(bits))
	}
	return int64(bits)
}

// appendNumber appends a number to out, or returns the reason why JSON cannot represent it.
func (l *leaf) appendNumber(out []byte, bits uint64) ([]byte, string) {
	unused := 64 - l.bits
	switch l.meaning {
	case boolean:
		return strconv.AppendBool(out, bits&1 == 1), ""
	case signed:
		if x := l.integer(bits); x<<unused>>unused == x {
			return strconv.AppendInt(out, x, 10), ""
		}
		return append(out, "null"...), fmt.Sprintf("is %d, which has more than %d bits", l.integer(bits), l.bits)
	case unsigned:
		x := bits
		if l.physical == format.Int32 {
			x = uint64(uint32(bits))
		}
		if x<<unused>>unused == x {
			return strconv.AppendUint(out, x, 10), ""
		}
		return append(out, "null"...), fmt.Sprintf("is %d, which has more than %d bits", x, l.bits)
	case single:
		return appendFloat(out, float64(math.Float32frombits(uint32(bits))), 32)
	}
	return appendFloat(out, math.Float64frombits(bits), 64)
}

// appendFloat writes a float as Python does, so that it is read as a float.
func appendFloat(out []byte, x float64, size int) ([]byte, string) {
	switch {
	case math.IsNaN(x):
		return append(out, "null"...), "" // as pandas does
	case math.IsInf(x, 0):
		return append(out, "null"...), fmt.Sprintf("is %v, which JSON cannot represent", x)
	}
	from, verb := len(out), byte('g')
	if a := math.Abs(x); a == 0 || a >= 1e-4 && a < 1e16 {
		verb = 'f'
	}
	out = strconv.AppendFloat(out, x, verb, -1, size)
	if !strings.ContainsAny(string(out[from:]), ".e") {
		out = append(out, '.', '0')
	}
	return out, ""
}

// appendTime appends a time of day, or returns the reason if it is invalid.
func (l *leaf) appendTime(out []byte, v scalar) ([]byte, string) {
	if n, day := l.integer(v.bits), int64(24*time.Hour/l.unit); n < 0 || n >= day {
		return append(out, "null"...), fmt.Sprintf("is %d of %s since midnight, which is not a time of day", n, l.unit)
	}
	return append(l.appendMoment(append(out, '"'), v), '"'), ""
}

// appendMoment appends a date or a time in ISO 8601.
func (l *leaf) appendMoment(out []byte, v scalar) []byte {
	n := l.integer(v.bits)
	layout := "2006-01-02"
	var at time.Time
	switch l.meaning {
	case date:
		at = time.Unix(n*86400, 0)
	case timestamp:
		layout = "2006-01-02T15:04:05.999999999"
		per := int64(time.Second / l.unit)
		at = time.Unix(n/per, n%per*int64(l.unit))
	case nanoTimestamp:
		layout = "2006-01-02T15:04:05.999999999"
		day := int64(uint32(v.bytes[8]) | uint32(v.bytes[9])<<8 | uint32(v.bytes[10])<<16 | uint32(v.bytes[11])<<24)
		nanos := int64(0)
		for i := range 8 {
			nanos |= int64(v.bytes[i]) << (8 * i)
		}
		const julianEpoch = 2440588
		at = time.Unix((day-julianEpoch)*86400+nanos/1e9, nanos%1e9)
	default:
		layout = "15:04:05.999999999"
		per := int64(time.Second / l.unit)
		at = time.Unix(n/per, n%per*int64(l.unit))
	}
	out = at.UTC().AppendFormat(out, layout)
	if l.utc && l.meaning == timestamp {
		out = append(out, 'Z')
	}
	return out
}

// appendDecimal appends a decimal with all its digits.
func (l *leaf) appendDecimal(out []byte, v scalar) []byte {
	x := new(big.Int)
	switch l.physical {
	case format.Int32, format.Int64:
		x.SetInt64(l.integer(v.bits))
	default: // big-endian, two's complement
		x.SetBytes(v.bytes)
		if len(v.bytes) > 0 && v.bytes[0]&0x80 != 0 {
			x.Sub(x, new(big.Int).Lsh(big.NewInt(1), uint(8*len(v.bytes))))
		}
	}
	digits := new(big.Int).Abs(x).String()
	if x.Sign() < 0 {
		out = append(out, '-')
	}
	if missing := l.scale + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	point := len(digits) - l.scale
	out = append(out, digits[:point]...)
	if l.scale > 0 {
		out = append(append(out, '.'), digits[point:]...)
	}
	return out
}

// halfFloat converts a 16-bit float of IEEE 754.
func halfFloat(bits uint16) float64 {
	sign, exponent, fraction := 1.0, int(bits>>10&31), float64(bits&1023)
	if bits>>15 == 1 {
		sign = -1
	}
	switch exponent {
	case 0:
		return sign * math.Ldexp(fraction, -24)
	case 31:
		if fraction != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}

// maxDecimal is the maximum size of a decimal in bytes.
const maxDecimal = 1 << 10

// appendBytes appends a value that is stored as bytes to out as JSON, or returns the
// reason why it cannot.
func (l *leaf) appendBytes(out, raw []byte) ([]byte, string) {
	switch l.meaning {
	case half:
		return appendFloat(out, halfFloat(uint16(raw[0])|uint16(raw[1])<<8), 32)
	case uuid:
		return fmt.Appendf(out, `"%x-%x-%x-%x-%x"`, raw[:4], raw[4:6], raw[6:8], raw[8:10], raw[10:]), ""
	case nanoTimestamp:
		return append(l.appendMoment(append(out, '"'), scalar{bytes: raw}), '"'), ""
	case decimal:
		if len(raw) == 0 || len(raw) > maxDecimal {
			return append(out, "null"...), fmt.Sprintf("is a decimal of %d bytes", len(raw))
		}
		return append(l.appendDecimal(append(out, '"'), scalar{bytes: raw}), '"'), ""
	case text:
		return table.AppendString(out, raw), ""
	}
	return append(base64.StdEncoding.AppendEncode(append(out, '"'), raw), '"'), ""
}
