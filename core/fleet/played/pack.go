package played

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/merit-rl/merit/core/fleet"
)

// maxUnpacked is how many bytes a result may have before it is compressed.
const maxUnpacked = 8 * fleet.MaxResult

var packer = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false))
	if err != nil {
		panic(err) // the options are constants
	}
	return e
})

// unpackers decode as a stream: what the head of a body claims is not believed,
// so memory grows with what comes.
var unpackers = sync.Pool{New: func() any {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20), zstd.WithDecoderMaxMemory(maxUnpacked))
	if err != nil {
		panic(err) // as above
	}
	return d
}}

func pack(text []byte) []byte { return packer().EncodeAll(text, nil) }

// unpack never makes more than maxUnpacked bytes.
func unpack(body []byte) ([]byte, error) {
	if len(body) > fleet.MaxResult {
		return nil, fmt.Errorf("%d bytes are more than a result has", len(body))
	}
	d := unpackers.Get().(*zstd.Decoder)
	defer unpackers.Put(d)
	if err := d.Reset(bytes.NewReader(body)); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(d, maxUnpacked+1))
	if err == nil && len(text) > maxUnpacked {
		err = fmt.Errorf("it holds more than %d bytes", maxUnpacked)
	}
	return text, err
}
