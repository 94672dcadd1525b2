package shardcodec

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/s2"

	"github.com/merit-rl/merit/internal/fleet/queue"
)

// maxUnpacked is how many bytes a result may have before it is compressed.
const maxUnpacked = 8 * queue.MaxResult

// blockSize is how much is compressed in one piece, and so the most memory for
// which the head of a piece is believed.
const blockSize = 1 << 20

// S2 takes a fourth of the time of zstd's fastest level, which was a third of what
// writing a result costs, for a quarter more bytes. Its bytes do not depend on the
// processor.
var packers = sync.Pool{New: func() any {
	return s2.NewWriter(nil, s2.WriterConcurrency(1), s2.WriterBlockSize(blockSize))
}}

var unpackers = sync.Pool{New: func() any {
	return s2.NewReader(nil, s2.ReaderMaxBlockSize(blockSize), s2.ReaderAllocBlock(64<<10))
}}

func pack(text []byte) ([]byte, error) {
	var out bytes.Buffer
	out.Grow(len(text)/2 + 64)
	p := packers.Get().(*s2.Writer)
	defer packers.Put(p)
	p.Reset(&out)
	_, err := p.Write(text)
	if err == nil {
		err = p.Close()
	}
	return out.Bytes(), err
}

// unpack never makes more than maxUnpacked bytes: memory grows with what comes.
func unpack(body []byte) ([]byte, error) {
	if len(body) > queue.MaxResult {
		return nil, fmt.Errorf("%d bytes are more than a result has", len(body))
	}
	p := unpackers.Get().(*s2.Reader)
	defer unpackers.Put(p)
	p.Reset(bytes.NewReader(body))
	text, err := io.ReadAll(io.LimitReader(p, maxUnpacked+1))
	if err == nil && len(text) > maxUnpacked {
		err = fmt.Errorf("it holds more than %d bytes", maxUnpacked)
	}
	return text, err
}
