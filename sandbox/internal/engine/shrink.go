package engine

import (
	"errors"
	"math"
	"reflect"

	"github.com/tetratelabs/wazero/api"

	"github.com/merit-rl/merit/sandbox/internal/engine/memory"
)

// wazero's memories cannot shrink, and wazero does not report a failed growth. Both
// matter here: a guest that grew must be restored to the size of its snapshot, and the
// outcome must say when a guest was refused memory. The struct behind api.Memory has
// exported fields for its bytes and its maximum, so they can be set without a fork. The
// tests of this package check that for the pinned version.

var errShrink = errors.New("wazero's memory has changed its form: cannot restore its size")

// liftMaximum lets every growth reach the allocator, which knows the limits.
func liftMaximum(m api.Memory) {
	if f := memoryField(m, "Max"); f.IsValid() && f.Kind() == reflect.Uint32 {
		f.SetUint(math.MaxUint16 + 1)
	}
}

// shrink sets the size of m to size, a whole number of pages. The engine reads
// the size anew only after a growth, so shrink removes the last page and grows
// m by one page.
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
