package shardcodec

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/merit-rl/merit/core/rl"
)

// The encoding: fields of a struct in order; integers as varints; other numbers as 8 or 4
// bytes, little-endian, bit for bit; a text as the number of an earlier equal text, or 0,
// length and bytes; lists and maps as length plus 1, or 0 for nil, and the elements; a pointer
// as a byte for nil or not and the value. Only processes of the same build exchange it (see
// fleet.Build), so both sides have the same fields. Durations are wall-clock times and are left
// out.

var (
	contentType  = reflect.TypeFor[rl.Content]()
	rawType      = reflect.TypeFor[json.RawMessage]()
	durationType = reflect.TypeFor[time.Duration]()
)

// writer encodes values.
type writer struct {
	bytes []byte
	seen  map[string]uint64 // number of each text written, from 1
	rows  map[string]uint64 // number of each row of features written, from 1
	err   error

	available []string // of the previous step
	lastMask  []byte   // of the previous step
	row       []byte   // scratch
}

var writers = sync.Pool{New: func() any { return &writer{seen: map[string]uint64{}, rows: map[string]uint64{}} }}

// reset forgets what was written but keeps the memory.
func (w *writer) reset() {
	clear(w.seen)
	clear(w.rows)
	*w = writer{bytes: w.bytes[:0], seen: w.seen, rows: w.rows, row: w.row}
}

// any writes what pointer points to.
func (w *writer) any(pointer any) { w.value(reflect.ValueOf(pointer).Elem()) }

func (w *writer) value(v reflect.Value) {
	switch v.Type() {
	case contentType:
		w.content(v.Interface().(rl.Content))
		return
	case durationType:
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		w.bytes = append(w.bytes, flag(v.Bool(), 1))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		w.bytes = binary.AppendVarint(w.bytes, v.Int())
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		w.bytes = binary.AppendUvarint(w.bytes, v.Uint())
	case reflect.Float64:
		w.float(v.Float())
	case reflect.Float32:
		w.bytes = binary.LittleEndian.AppendUint32(w.bytes, math.Float32bits(float32(v.Float())))
	case reflect.String:
		w.text(v.String())
	case reflect.Pointer:
		w.bytes = append(w.bytes, flag(!v.IsNil(), 1))
		if !v.IsNil() {
			w.value(v.Elem())
		}
	case reflect.Slice:
		w.list(v)
	case reflect.Map:
		w.table(v)
	case reflect.Interface: // errors are not sent
	case reflect.Struct:
		for i := range v.NumField() {
			w.value(v.Field(i))
		}
	default:
		w.err = fmt.Errorf("%s cannot be sent", v.Type())
	}
}

func (w *writer) text(s string) { known(w, w.seen, s) }

// known writes the number of s if s was written before, and otherwise s itself.
func known[T string | []byte](w *writer, seen map[string]uint64, s T) {
	n, known := seen[string(s)]
	w.bytes = binary.AppendUvarint(w.bytes, n)
	if !known {
		seen[string(s)] = uint64(len(seen) + 1)
		w.bytes = append(binary.AppendUvarint(w.bytes, uint64(len(s))), s...)
	}
}

func (w *writer) float(x float64) {
	w.bytes = binary.LittleEndian.AppendUint64(w.bytes, math.Float64bits(x))
}

// content writes a text, or another form as JSON.
func (w *writer) content(c rl.Content) {
	other := c.IsNull() || c.Parts() != nil
	w.bytes = append(w.bytes, flag(other, 1))
	if !other {
		w.text(c.Text())
		return
	}
	form, err := c.MarshalJSON()
	if err != nil {
		w.err = err
	}
	w.text(string(form))
}

func (w *writer) list(v reflect.Value) {
	w.length(v)
	switch values := v.Interface().(type) {
	case []rl.Step:
		for i := range values {
			w.step(&values[i])
		}
	case []rl.Message:
		for i := range values {
			w.message(&values[i])
		}
	case []byte:
		w.bytes = append(w.bytes, values...)
	case json.RawMessage:
		w.bytes = append(w.bytes, values...)
	default:
		for i := range v.Len() {
			w.value(v.Index(i))
		}
	}
}

func (w *writer) table(v reflect.Value) {
	w.length(v)
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for _, k := range keys {
		w.text(k.String())
		w.value(v.MapIndex(k))
	}
}

// length writes the number of elements of a list or map.
func (w *writer) length(v reflect.Value) {
	n := uint64(0)
	if !v.IsNil() {
		n = uint64(v.Len()) + 1
	}
	w.bytes = binary.AppendUvarint(w.bytes, n)
}
