package fuel_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/merit-rl/merit/sandbox/internal/fuel"
)

// Promise: a module whose blocks nest deep is refused; it does not exhaust the
// stack.
func TestDeepBlocks(t *testing.T) {
	for _, depth := range []int{100_000, 5_000_000} {
		body := append([]byte{0}, bytes.Repeat([]byte{0x02, 0x40}, depth)...)
		body = append(body, bytes.Repeat([]byte{0x0b}, depth+1)...)
		module := []byte("\x00asm\x01\x00\x00\x00\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00")
		code := protowire.AppendVarint([]byte{1}, uint64(len(body)))
		code = append(code, body...)
		module = append(protowire.AppendVarint(append(module, 0x0a), uint64(len(code))), code...)
		_, err := fuel.Instrument(module, fuel.Options{})
		require.Error(t, err)
	}
}
