package wire_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/wire"
	pb "github.com/merit-rl/merit/internal/wire/proto"
)

// Promise: a picture keeps its lines and cannot play with the terminal.
func TestRender(t *testing.T) {
	text, err := wire.DecodeRender(wire.EncodeRender("##\n\x1b[2J#\u202e", nil))
	require.NoError(t, err)
	require.Equal(t, "##\n\\x1b[2J#\\u202e", text)
	_, err = wire.DecodeRender(wire.EncodeRender("", errors.New("no picture")))
	require.EqualError(t, err, "no picture")
}

// Promise: where an environment is at comes out as it went in; what makes no
// sense says nothing.
func TestPlace(t *testing.T) {
	for want, p := range map[string]wire.Place{
		"":                                  {},
		"slot 3 had been working for 2.1 s": {Busy: true, Slot: 3, For: 2140 * time.Millisecond},
		"its slots, which step together, had been working for 0.0 s": {Busy: true, Together: true},
	} {
		got := wire.DecodePlace(wire.EncodePlace(p), 4)
		require.Equal(t, p, got)
		require.Equal(t, want, got.String())
	}
	for _, m := range []*pb.WhereReply{{Busy: true, Slot: 4}, {Busy: true, Slot: 1<<32 - 1}, {Busy: true, Milliseconds: 1<<64 - 1}} {
		require.Zero(t, wire.DecodePlace(m, 4))
	}
}

// Promise: what is cut is cut between characters and says so.
func TestCut(t *testing.T) {
	require.Equal(t, "été", wire.Cut("été", 5))
	require.Equal(t, "ét…", wire.Cut("étététété", 7))
	require.Equal(t, "a\uFFFDb", wire.Cut("a\xffb", 10))
	require.LessOrEqual(t, len(wire.Clean("\x00\x00\x00\x00\x00\x00", 10)), 10)
}
