package httpd

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
)

// Promise: frames without data are counted however the bytes are split, data is not, and sent
// bytes earn credit for the frames that acknowledge them.
func TestFramesAreCounted(t *testing.T) {
	var sent bytes.Buffer
	sent.WriteString(http2.ClientPreface)
	f := http2.NewFramer(&sent, nil)
	for range framesAtOnce {
		require.NoError(t, f.WritePing(false, [8]byte{}))
		require.NoError(t, f.WriteData(1, false, make([]byte, 100)))
	}
	for _, size := range []int{1, 7, 1000, sent.Len()} {
		p := newPace()
		var wait time.Duration
		for text := sent.Bytes(); len(text) > 0; {
			n := min(size, len(text))
			wait = max(wait, p.read(text[:n]))
			text = text[n:]
		}
		require.Zero(t, wait, "as many as there may be at once")
		p.limit.SetLimit(0) // no time passes
		var more bytes.Buffer
		require.NoError(t, http2.NewFramer(&more, nil).WriteRSTStream(1, http2.ErrCodeCancel))
		p.wrote(5 * framesPerReset * bytesPerFrame)
		for range 5 {
			require.Zero(t, p.read(more.Bytes()))
		}
	}
	p := newPace()
	p.read([]byte(http2.ClientPreface))
	var more bytes.Buffer
	for range 2 * framesAtOnce {
		require.NoError(t, http2.NewFramer(&more, nil).WriteData(1, false, nil))
	}
	require.Greater(t, p.read(more.Bytes()), time.Second, "twice as many wait")
}
