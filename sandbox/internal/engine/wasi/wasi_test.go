package wasi

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// Promise: every function of WASI preview 1 exists here with the signature
// that the reference implementation gives it, so that any toolchain's module
// links.
func TestWASIIsComplete(t *testing.T) {
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer r.Close(ctx)
	m, err := wasi_snapshot_preview1.NewBuilder(r).Compile(ctx)
	require.NoError(t, err)
	ours := map[string]Function{}
	for _, f := range Functions() {
		ours[f.Name] = f
	}
	require.Len(t, ours, len(m.ExportedFunctions()))
	for name, f := range m.ExportedFunctions() {
		i, ok := ours[name]
		require.True(t, ok, name)
		require.Equal(t, string(f.ParamTypes()), types(i.Params), name)
		require.Len(t, f.ResultTypes(), len(i.Results), name)
	}
}

// types are the codes of what the letters name.
func types(letters string) string {
	return strings.NewReplacer("i", string(api.ValueTypeI32), "I", string(api.ValueTypeI64)).Replace(letters)
}
