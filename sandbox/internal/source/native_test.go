package source

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

type including struct{ Language }

func (including) Interpreter() interpreter.Interpreter {
	i := interpreter.Interpreter{Title: "CPython 3.13.5"}
	i.Includes = append(i.Includes, struct {
		Name    string `json:"name"`
		Version string `json:"version"`
		License string `json:"license"`
	}{"numpy", "2.2.6", "BSD-3-Clause"})
	return i
}

// Promise: a native wheel that would hide a package of the interpreter is refused by name
// before it runs; other packages may bring native code that they do without.
func TestNativeWheels(t *testing.T) {
	s := &Script{Language: including{}, Files: map[string][]byte{"markupsafe/_speedups.so": nil, "numpy/__init__.py": nil, "reward.py": nil}}
	require.NoError(t, s.native("folder"))
	s.Files["numpy/_core/_multiarray_umath.cpython-311-x86_64-linux-gnu.so"] = nil
	s.Files["numpy-2.1.0.dist-info/WHEEL"] = []byte("Wheel-Version: 1.0\nTag: cp311-cp311-manylinux_2_17_x86_64\n")
	f := fault.As(s.native("folder"))
	require.Equal(t, "numpy/_core/_multiarray_umath.cpython-311-x86_64-linux-gnu.so is native code for another platform (a wheel for cp311-cp311-manylinux_2_17_x86_64)", f.What)
	require.Equal(t, "delete the package numpy and its .dist-info from the folder: CPython 3.13.5 includes numpy 2.2.6", f.Hint)
}
