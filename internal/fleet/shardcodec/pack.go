package shardcodec

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/s2"

	"github.com/merit-rl/merit/internal/fleet/queue"
)

// maxUnpacked is the largest uncompressed size of a result, in bytes.
const maxUnpacked = 8 * queue.MaxResult

// blockSize is the size of a compressed block. It limits the memory that an untrusted block
// header can request.
const blockSize = 1 << 20

// S2 takes a fourth of the time of zstd's fastest level, which took a third of the time to
// write a result, and produces a quarter more bytes. Its output does not depend on the CPU.
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

// unpack decompresses at most maxUnpacked bytes. Its memory grows with the data, not with
// claimed sizes.
func unpack(body []byte) ([]byte, error) {
	if len(body) > queue.MaxResult {
		return nil, fmt.Errorf("%d bytes exceed the largest size of a result", len(body))
	}
	p := unpackers.Get().(*s2.Reader)
	defer unpackers.Put(p)
	p.Reset(bytes.NewReader(body))
	text, err := io.ReadAll(io.LimitReader(p, maxUnpacked+1))
	if err == nil && len(text) > maxUnpacked {
		err = fmt.Errorf("it decompresses to more than %d bytes", maxUnpacked)
	}
	return text, err
}
