package engine

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/sandbox/internal/fuel"
	wt "github.com/merit-rl/merit/sandbox/internal/wasmtest"
)

func anything(*fuel.Info) error { return nil }

// adder is a module whose f(x) is x + 35 with a table, a global and data.
func adder() Module {
	return Bytes(wt.Module{
		Memory:  &wt.Memory{Export: "memory", Size: wt.Size{Min: 1}},
		Tables:  []wt.Table{{Size: wt.Size{Min: 2}}},
		Types:   []wt.Func{{Params: wt.I32, Results: wt.I32}},
		Elems:   []wt.Elem{{Funcs: []uint32{1}}},
		Globals: []wt.Global{{Type: wt.I32, Mutable: true}},
		Customs: []wt.Custom{{Name: "note", Content: "text"}},
		Funcs: []wt.Func{
			{Export: "f", Params: wt.I32, Results: wt.I32, Body: wt.LocalGet(0) + wt.I32Const(0) + wt.CallIndirect(0, 0)},
			{Params: wt.I32, Results: wt.I32, Body: wt.LocalGet(0) + wt.I32Const(35) + wt.I32Add},
		},
	}.Bytes())
}

func run(t *testing.T, p *Program) (result, used uint64) {
	i, err := p.Instantiate(t.Context(), 1<<20)
	require.NoError(t, err)
	defer i.Close()
	i.Begin(t.Context(), Budget{Fuel: 1000, Depth: 100, Wall: time.Minute})
	result, stop := i.Call(i.Func("f"), 7)
	require.Nil(t, stop)
	used, stop = i.End()
	require.Nil(t, stop)
	return result, used
}

// Promise: a program from the cache is the same program: what the gate found,
// results and fuel.
func TestProgramFromCache(t *testing.T) {
	var compiled []string
	finished := 0
	e, err := New(Options{CacheDir: filepath.Join(t.TempDir(), "cache [1]*"), CacheBytes: 1 << 30, Compiling: func(title string, bytes int) (done func()) {
		require.Positive(t, bytes)
		compiled = append(compiled, title)
		return func() { finished++ }
	}})
	require.NoError(t, err)
	defer e.Close()
	var infos []*fuel.Info
	for _, cached := range []bool{false, true, true} {
		p, err := e.Compile(t.Context(), adder(), fuel.Options{}, anything)
		require.NoError(t, err)
		require.Equal(t, cached, p.Cached)
		result, used := run(t, p)
		require.EqualValues(t, 42, result)
		require.EqualValues(t, 6, used)
		infos = append(infos, p.Info())
		p.Close(t.Context())
	}
	require.Equal(t, infos[0], infos[1])
	require.Equal(t, 1, finished)
	require.Len(t, compiled, 1, "what is cached is not compiled, and nobody is told that it is")
	// Other limits are another program, and what is not allowed now is refused.
	p, err := e.Compile(t.Context(), adder(), fuel.Options{Limits: fuel.Limits{MemoryPages: 2}}, anything)
	require.NoError(t, err)
	require.False(t, p.Cached)
	p.Close(t.Context())
	wrong := errors.New("wrong")
	_, err = e.Compile(t.Context(), adder(), fuel.Options{}, func(*fuel.Info) error { return wrong })
	require.ErrorIs(t, err, wrong)
}

// Promise: the memory of an instance has its data before any code runs, whether the program
// was compiled or comes from the cache, where the data is beside the skeleton.
func TestDataFromCache(t *testing.T) {
	e, err := New(Options{CacheDir: filepath.Join(t.TempDir(), "cache"), CacheBytes: 1 << 30})
	require.NoError(t, err)
	defer e.Close()
	load := wt.Func{Export: "f", Params: wt.I32, Results: wt.I32, Body: wt.LocalGet(0) + wt.I32Load(0)}
	for name, m := range map[string]wt.Module{
		"active":               {Funcs: []wt.Func{load}, Data: []wt.Data{{Offset: 7, Bytes: "\x2a\x00\x00\x00"}, {Offset: 1<<16 - 2, Bytes: "ab"}}},
		"one over the other":   {Funcs: []wt.Func{load}, Data: []wt.Data{{Offset: 6, Bytes: "\x01\x02\x03\x04\x05"}, {Offset: 7, Bytes: "\x2a\x00\x00\x00"}}},
		"passive among others": {Funcs: []wt.Func{load}, Data: []wt.Data{{Passive: true, Bytes: "x"}, {Offset: 7, Bytes: "\x2a\x00\x00\x00"}}},
	} {
		m.Memory = &wt.Memory{Export: "memory", Size: wt.Size{Min: 1}}
		var before []string
		for _, cached := range []bool{false, true} {
			p, err := e.Compile(t.Context(), Bytes(m.Bytes()), fuel.Options{}, anything)
			require.NoError(t, err)
			require.Equal(t, cached, p.Cached, name)
			result, _ := run(t, p)
			require.EqualValues(t, 42, result, name)
			i, err := p.Instantiate(t.Context(), 1<<20)
			require.NoError(t, err)
			content, ok := i.Bytes(0, 1<<16)
			require.True(t, ok)
			before = append(before, string(content))
			i.Close()
			p.Close(t.Context())
		}
		require.True(t, before[0] == before[1], name)
	}
}

// Promise: a cache that cannot be opened or written costs time only: programs
// are the same, and one warning says why.
func TestProgramWithoutItsCache(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for name, place := range map[string]struct {
		folder string
		harm   func() error
	}{
		"no folder":      {filepath.Join(file, "cache"), func() error { return nil }},
		"a file":         {file, func() error { return nil }},
		"gone meanwhile": {filepath.Join(dir, "cache"), func() error { return os.RemoveAll(filepath.Join(dir, "cache")) }},
	} {
		t.Run(name, func(t *testing.T) {
			var warnings []error
			e, err := New(Options{CacheDir: place.folder, CacheBytes: 1 << 30, Warn: func(err error) { warnings = append(warnings, err) }})
			require.NoError(t, err)
			defer e.Close()
			require.NoError(t, place.harm())
			for range 2 {
				p, err := e.Compile(t.Context(), adder(), fuel.Options{}, anything)
				require.NoError(t, err)
				result, used := run(t, p)
				require.EqualValues(t, 42, result)
				require.EqualValues(t, 6, used)
				e.Keep("state", []byte("content"))
				e.Recall("state", func([]byte) { t.Error("there is no cache") })
				p.Close(t.Context())
			}
			require.Len(t, warnings, 1)
			require.ErrorContains(t, warnings[0], dir)
		})
	}
}

// Promise: if wazero does not take the native code from the cache, the empty
// skeleton is never run in its place.
func TestSkeletonNeverRuns(t *testing.T) {
	e, err := New(Options{CacheDir: filepath.Join(t.TempDir(), "cache"), CacheBytes: 1 << 30})
	require.NoError(t, err)
	defer e.Close()
	key := programKey(adder().Digest, fuel.Options{})
	for name, harm := range map[string]func(t *testing.T, dir, code string){
		"other name": func(t *testing.T, _, code string) {
			require.NoError(t, os.Rename(code, code+"0"))
		},
		"stale": func(t *testing.T, _, code string) {
			content, err := os.ReadFile(code)
			require.NoError(t, err)
			content[7] ^= 1 // the version of wazero
			require.NoError(t, os.WriteFile(code, content, 0o600))
		},
		"no meta": func(t *testing.T, dir, _ string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, metaFile), []byte("{}"), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := e.Compile(t.Context(), adder(), fuel.Options{}, anything)
			require.NoError(t, err)
			p.Close(t.Context())
			dir, ok := e.cache.Find(key)
			require.True(t, ok)
			code, err := codeFile(dir)
			require.NoError(t, err)
			harm(t, dir, code)
			scratch, err := e.cache.Scratch()
			require.NoError(t, err)
			require.NoError(t, os.Remove(scratch))
			require.NoError(t, os.Rename(dir, scratch))
			require.NoError(t, e.cache.Put(key, scratch)) // sealed as if it were good
			for _, cached := range []bool{false, true} {
				p, err := e.Compile(t.Context(), adder(), fuel.Options{}, anything)
				require.NoError(t, err)
				require.Equal(t, cached, p.Cached)
				result, _ := run(t, p)
				require.EqualValues(t, 42, result)
				p.Close(t.Context())
			}
		})
	}
}
