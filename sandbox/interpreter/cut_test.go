package interpreter

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Promise: the library of Merit's own interpreter is cut off its module, and a damaged file
// is an error and never a panic.
func TestCut(t *testing.T) {
	section := func(id byte, content string) string { return string([]byte{id, byte(len(content))}) + content }
	const head = "\x00asm\x01\x00\x00\x00"
	file := head + section(0, "\x04name…") + section(1, "types") + section(0, "\x09merit.libPK…") + section(10, "code")
	module, library, err := cut([]byte(file))
	require.NoError(t, err)
	require.Equal(t, head+section(1, "types")+section(10, "code"), string(module))
	require.Equal(t, "PK…", string(library))
	module, library, err = cut([]byte(head + section(1, "types")))
	require.NoError(t, err)
	require.Nil(t, library, "npm's has none")
	require.Len(t, module, len(head)+7)
	for n := range len(file) {
		_, _, _ = cut([]byte(file[:n]))
	}
	for _, bad := range []string{"", head + "\x01", head + "\x01\xff\xff\xff\xff\x7f", head + "\x01\x05abc"} {
		_, _, err := cut([]byte(bad))
		require.ErrorIs(t, err, errModule, "%q", bad)
	}
	_, library, err = cut([]byte(head + section(0, "\x7fmerit.lib")))
	require.NoError(t, err)
	require.Nil(t, library)
}
