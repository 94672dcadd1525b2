package played

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/merit-rl/merit/core/rl"
)

// The form: the fields of a struct in their order; whole numbers as varints;
// other numbers in 8 or 4 bytes, little-endian, bit for bit; a text as the number
// of the same text before it, or 0, length and bytes; lists and maps with their
// length plus 1, or 0 for nil; what a pointer points at behind a byte. It is
// between processes of one build only (see fleet.Build), so that the fields are
// those of both. Durations are the wall clock's, and are left out.

var (
	contentType  = reflect.TypeFor[rl.Content]()
	rawType      = reflect.TypeFor[json.RawMessage]()
	durationType = reflect.TypeFor[time.Duration]()
)

// writer writes values of the nouns.
type writer struct {
	bytes []byte
	seen  map[string]uint64 // number of each text, from 1
	err   error
}

// any writes what pointer points at.
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
		w.bytes = append(w.bytes, bit(v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		w.bytes = binary.AppendVarint(w.bytes, v.Int())
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		w.bytes = binary.AppendUvarint(w.bytes, v.Uint())
	case reflect.Float64:
		w.bytes = binary.LittleEndian.AppendUint64(w.bytes, math.Float64bits(v.Float()))
	case reflect.Float32:
		w.bytes = binary.LittleEndian.AppendUint32(w.bytes, math.Float32bits(float32(v.Float())))
	case reflect.String:
		w.text(v.String())
	case reflect.Pointer:
		w.bytes = append(w.bytes, bit(!v.IsNil()))
		if !v.IsNil() {
			w.value(v.Elem())
		}
	case reflect.Slice:
		w.list(v)
	case reflect.Map:
		w.table(v)
	case reflect.Struct:
		for i := range v.NumField() {
			w.value(v.Field(i))
		}
	default:
		w.err = fmt.Errorf("%s cannot be sent", v.Type())
	}
}

func (w *writer) text(s string) {
	n, known := w.seen[s]
	w.bytes = binary.AppendUvarint(w.bytes, n)
	if !known {
		w.seen[s] = uint64(len(w.seen) + 1)
		w.bytes = append(binary.AppendUvarint(w.bytes, uint64(len(s))), s...)
	}
}

// content writes a text, or the JSON of another form.
func (w *writer) content(c rl.Content) {
	other := c.IsNull() || c.Parts() != nil
	w.bytes = append(w.bytes, bit(other))
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
	case []byte:
		w.bytes = append(w.bytes, values...)
	case json.RawMessage:
		w.bytes = append(w.bytes, values...)
	case []float32:
		for _, x := range values {
			w.bytes = binary.LittleEndian.AppendUint32(w.bytes, math.Float32bits(x))
		}
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

// length writes how many elements a list or map has.
func (w *writer) length(v reflect.Value) {
	n := uint64(0)
	if !v.IsNil() {
		n = uint64(v.Len()) + 1
	}
	w.bytes = binary.AppendUvarint(w.bytes, n)
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}
