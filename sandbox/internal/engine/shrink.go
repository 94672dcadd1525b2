package engine

import (
	"errors"
	"math"
	"reflect"

	"github.com/tetratelabs/wazero/api"

	"github.com/merit-rl/merit/sandbox/internal/engine/memory"
)

// wazero's memories cannot shrink, and a failed growth goes unnoticed. Both
// matter here: a guest that grew must be restored to the size of its snapshot,
// and a guest that was refused memory ended for that reason. The struct behind
// api.Memory has exported fields for its bytes and its maximum, so they can be
// set without a fork. The tests of this package hold that to the pinned
// version.

var errShrink = errors.New("wazero's memory has changed its form: cannot restore its size")

// liftMaximum lets every growth reach the allocator, which knows the limits.
func liftMaximum(m api.Memory) {
	if f := memoryField(m, "Max"); f.IsValid() && f.Kind() == reflect.Uint32 {
		f.SetUint(math.MaxUint16 + 1)
	}
}

// shrink sets the size of m to size, a whole number of pages. The engine reads
// the size anew after a growth only, so the last page is taken off and grown
// again.
func shrink(m api.Memory, size uint32) error {
	if m.Size() == size {
		return nil
	}
	f := memoryField(m, "Buffer")
	if size < memory.PageBytes || !f.IsValid() || f.Type() != reflect.TypeFor[[]byte]() {
		return errShrink
	}
	f.SetBytes(f.Bytes()[:size-memory.PageBytes])
	if _, ok := m.Grow(1); !ok || m.Size() != size {
		return errShrink
	}
	return nil
}

func memoryField(m api.Memory, name string) reflect.Value {
	v := reflect.ValueOf(m)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return reflect.Value{}
	}
	return v.Elem().FieldByName(name)
}
