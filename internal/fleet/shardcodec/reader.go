package shardcodec

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// reader reads what writer wrote, up to the first error. Its allocations are bounded by a
// multiple of its input's size.
type reader struct {
	rest  []byte
	texts []string
	rows  [][]float32
	err   error

	available []string // of the previous step
	lastMask  []byte   // of the previous step
	samples   []rl.Sampled
	values    []float64
}

// any reads into the zero value that pointer points to.
func (r *reader) any(pointer any) { r.value(reflect.ValueOf(pointer).Elem()) }

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
		r.rest = nil
	}
}

func (r *reader) value(v reflect.Value) {
	switch v.Type() {
	case contentType:
		v.Set(reflect.ValueOf(r.content()))
		return
	case durationType:
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.bit())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if n := r.varint(); v.OverflowInt(n) {
			r.fail("the number %d is too large", n)
		} else {
			v.SetInt(n)
		}
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if n := r.uvarint(); v.OverflowUint(n) {
			r.fail("the number %d is too large", n)
		} else {
			v.SetUint(n)
		}
	case reflect.Float64:
		v.SetFloat(r.float())
	case reflect.Float32:
		if b := r.take(4); b != nil {
			v.SetFloat(float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))
		}
	case reflect.String:
		v.SetString(r.text())
	case reflect.Pointer:
		if r.bit() {
			v.Set(reflect.New(v.Type().Elem()))
			r.value(v.Elem())
		}
	case reflect.Slice:
		r.list(v)
	case reflect.Map:
		r.table(v)
	case reflect.Interface: // errors are not sent
	case reflect.Struct:
		for i := 0; i < v.NumField() && r.err == nil; i++ {
			r.value(v.Field(i))
		}
	default:
		r.fail("%s cannot be read", v.Type())
	}
}

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.fail("the data is truncated")
		return nil
	}
	taken := r.rest[:n:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) bit() bool {
	b := r.byte()
	if b > 1 {
		r.fail("%d is not a boolean", b)
	}
	return b == 1
}

func (r *reader) float() float64 {
	if b := r.take(8); b != nil {
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	return 0
}

func (r *reader) uvarint() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.fail("a number is missing or too large")
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *reader) varint() int64 {
	n, size := binary.Varint(r.rest)
	if size <= 0 {
		r.fail("a number is missing or too large")
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *reader) text() string {
	n := r.uvarint()
	switch {
	case n > uint64(len(r.texts)):
		r.fail("text %d does not exist yet", n)
	case n > 0:
		return r.texts[n-1]
	case r.err == nil:
		s := string(r.take(r.uvarint())) // any bytes; code that writes files handles those that are not UTF-8
		r.texts = append(r.texts, s)
		return s
	}
	return ""
}

func (r *reader) content() (c rl.Content) {
	if other := r.bit(); !other {
		return rl.Text(r.text())
	}
	if err := strictjson.Unmarshal([]byte(r.text()), &c); err != nil && r.err == nil {
		r.fail("%s", err.Error())
	}
	return c
}

// length reads the number of elements, each of at least least bytes. It returns false for a nil
// list.
func (r *reader) length(least uint64) (n int, ok bool) {
	count := r.uvarint()
	if count == 0 || r.err != nil {
		return 0, false
	}
	if count--; count > uint64(len(r.rest))/least {
		r.fail("a list of %d elements is longer than the data", count)
		return 0, false
	}
	return int(count), true
}

func (r *reader) list(v reflect.Value) {
	n, ok := r.length(least(v.Type().Elem()))
	if !ok {
		return
	}
	switch v.Type().Elem() {
	case stepType:
		v.Set(reflect.ValueOf(r.steps(n)))
		return
	case messageType:
		v.Set(reflect.ValueOf(r.messages(n)))
		return
	}
	switch v.Type().Elem().Kind() {
	case reflect.Uint8:
		b := slices.Clone(r.take(uint64(n)))
		if v.Type() == rawType && !json.Valid(b) {
			r.fail("a JSON value is invalid")
		}
		if b == nil {
			b = []byte{}
		}
		v.SetBytes(b)
	default:
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := 0; i < n && r.err == nil; i++ {
			r.value(v.Index(i))
		}
	}
}

func (r *reader) table(v reflect.Value) {
	n, ok := r.length(2)
	if !ok {
		return
	}
	v.Set(reflect.MakeMapWithSize(v.Type(), n))
	before := ""
	for i := 0; i < n && r.err == nil; i++ {
		key := r.text()
		if i > 0 && key <= before {
			r.fail("the keys of a map are not sorted")
			return
		}
		before = key
		value := reflect.New(v.Type().Elem()).Elem()
		r.value(value)
		v.SetMapIndex(reflect.ValueOf(key), value)
	}
}

// least returns the smallest encoded size of a value of type t. With it, a list is allocated
// only if the data can hold its elements.
func least(t reflect.Type) uint64 {
	switch t.Kind() {
	case reflect.Float64:
		return 8
	case reflect.Float32:
		return 4
	case reflect.Struct:
		switch t {
		case contentType:
			return 2
		case stepType:
			return 34 // see step
		case messageType:
			return 4
		}
		n := uint64(0)
		for i := range t.NumField() {
			n += least(t.Field(i).Type)
		}
		return max(n, 1)
	case reflect.Int64:
		if t == durationType {
			return 0
		}
	}
	return 1
}
