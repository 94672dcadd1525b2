package marshal_test

import (
	"encoding/json"
	"math"
	"os/exec"
	"strings"
	"testing"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox/internal/marshal"
	"github.com/stretchr/testify/require"
)

const document = `{"text":"příklad 🙂","big":123456789012345678901234567890,"int":-7,"wide":4294967296,"float":1.5,"list":[null,true,false,[]],"empty":{}}`

// Promise: CPython reads what is written.
func TestCPythonReads(t *testing.T) {
	python := testneeds.Python(t)
	var e marshal.Encoder
	e.Reset()
	e.List(4)
	require.NoError(t, e.JSON([]byte(document)))
	e.Name("role")
	e.Name("role")
	e.Float(math.Copysign(0, -1))
	cmd := exec.Command(python, "-c", `import marshal, sys, json; print(json.dumps(marshal.loads(sys.stdin.buffer.read())))`)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	go func() {
		_, _ = in.Write(e.Bytes())
		_ = in.Close()
	}()
	out, err := cmd.Output()
	require.NoError(t, err)
	require.JSONEq(t, `[`+document+`, "role", "role", -0.0]`, string(out))
}

// Promise: what CPython writes in version 2 is read.
func TestCPythonWrites(t *testing.T) {
	python := testneeds.Python(t)
	out, err := exec.Command(python, "-c", `import marshal, sys; sys.stdout.buffer.write(marshal.dumps(
		{"a": [1, -2, 1 << 40, -(1 << 40), 1 << 100, 0.5, None, True, "ž", (3,)]}, 2))`).Output()
	require.NoError(t, err)
	v, err := marshal.Decode(out)
	require.NoError(t, err)
	items := v.Get("a").Items
	require.Len(t, items, 10)
	for i, want := range []int64{1, -2, 1 << 40, -1 << 40} {
		require.Equal(t, marshal.Value{Kind: marshal.Int, Int: want, Float: items[i].Float}, items[i])
	}
	require.Equal(t, math.Pow(2, 100), items[4].Float)
	require.Equal(t, 0.5, items[5].Float)
	require.Equal(t, []marshal.Kind{marshal.None, marshal.Bool, marshal.Text, marshal.List},
		[]marshal.Kind{items[6].Kind, items[7].Kind, items[8].Kind, items[9].Kind})
	require.Equal(t, marshal.None, v.Get("b").Kind)
}

// Promise: invalid JSON is an error, never a value.
func TestInvalidJSON(t *testing.T) {
	for _, raw := range []string{"", "{", "[1", `{"a"`, "nul", `"`} {
		var e marshal.Encoder
		e.Reset()
		require.Error(t, e.JSON([]byte(raw)), raw)
	}
}

// Promise: no bytes crash the decoder, and what it makes is in proportion.
func FuzzDecode(f *testing.F) {
	var e marshal.Encoder
	e.Reset()
	require.NoError(f, e.JSON([]byte(document)))
	f.Add(e.Bytes())
	f.Add([]byte("[\xff\xff\xff\xff"))
	f.Add([]byte("l\x00\x00\x00\x80"))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := marshal.Decode(data)
		if err == nil {
			require.LessOrEqual(t, len(v.Items), len(data))
		}
	})
}

// Promise: whatever JSON Go reads is written.
func FuzzJSON(f *testing.F) {
	f.Add([]byte(document))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var e marshal.Encoder
		e.Reset()
		if err := e.JSON(raw); json.Valid(raw) {
			require.NoError(t, err)
		}
	})
}

// Promise: values that nest without end are an error in both directions: the stack
// is not used up.
func TestDepth(t *testing.T) {
	const deep = 1_000_000
	for _, raw := range []string{strings.Repeat("[", deep), strings.Repeat(`{"a":`, deep), strings.Repeat("[", deep) + strings.Repeat("]", deep)} {
		var e marshal.Encoder
		e.Reset()
		require.ErrorContains(t, e.JSON([]byte(raw)), "nested more than")
	}
	for _, unit := range []string{"[\x01\x00\x00\x00", "(\x01\x00\x00\x00", "{N"} {
		_, err := marshal.Decode([]byte(strings.Repeat(unit, deep)))
		require.Error(t, err)
	}
}
