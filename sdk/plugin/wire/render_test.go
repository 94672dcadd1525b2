package wire_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/sdk/plugin/wire"
)

// Promise: a picture keeps its lines and cannot play with the terminal.
func TestRender(t *testing.T) {
	text, err := wire.DecodeRender(wire.EncodeRender("##\n\x1b[2J#\u202e", nil))
	require.NoError(t, err)
	require.Equal(t, "##\n\\x1b[2J#\\u202e", text)
	_, err = wire.DecodeRender(wire.EncodeRender("", errors.New("no picture")))
	require.EqualError(t, err, "no picture")
}

// Promise: what is cut is cut between characters and says so.
func TestCut(t *testing.T) {
	require.Equal(t, "été", wire.Cut("été", 5))
	require.Equal(t, "ét…", wire.Cut("étététété", 7))
	require.Equal(t, "a\uFFFDb", wire.Cut("a\xffb", 10))
	require.LessOrEqual(t, len(wire.Clean("\x00\x00\x00\x00\x00\x00", 10)), 10)
}
