package columns

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// unpacker decompresses pages.
type unpacker struct{ zstd *zstd.Decoder }

// unpack decompresses packed into out, which has the length that the page declares; it
// never decompresses more.
func (u *unpacker) unpack(codec format.CompressionCodec, out, packed []byte) error {
	wrong := func(n int, err error) error {
		if err == nil && n != len(out) {
			err = fmt.Errorf("it has %d bytes", n)
		}
		if err != nil {
			return fmt.Errorf("cannot decompress a page of %d bytes with %s: %v", len(out), codec, err)
		}
		return nil
	}
	switch codec {
	case format.Uncompressed:
		return wrong(copy(out, packed), sameLength(out, packed))
	case format.Snappy:
		n, err := snappy.DecodedLen(packed)
		if err == nil && n == len(out) {
			var got []byte
			got, err = snappy.Decode(out, packed)
			n = len(got)
		}
		return wrong(n, err)
	case format.Zstd:
		if u.zstd == nil {
			z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(2*maxPage))
			if err != nil {
				return err
			}
			u.zstd = z
		}
		got, err := u.zstd.DecodeAll(packed, out[:0:len(out)])
		return wrong(len(got), err)
	case format.Gzip:
		z, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			return wrong(0, err)
		}
		return wrong(fill(out, z))
	case format.Brotli:
		return wrong(fill(out, brotli.NewReader(bytes.NewReader(packed))))
	case format.Lz4Raw:
		return wrong(lz4.UncompressBlock(packed, out))
	}
	return fmt.Errorf("its pages have the unsupported compression %s: write them with snappy, zstd, gzip, brotli or lz4", codec)
}

func sameLength(out, packed []byte) error {
	if len(out) != len(packed) {
		return fmt.Errorf("it has %d bytes", len(packed))
	}
	return nil
}

// fill reads out from r, which must end after it.
func fill(out []byte, r io.Reader) (int, error) {
	n, err := io.ReadFull(r, out)
	if errors.Is(err, io.EOF) && len(out) == 0 {
		err = nil
	}
	if err != nil {
		return n, err
	}
	var more [1]byte
	switch k, err := r.Read(more[:]); {
	case k > 0:
		return n + k, errors.New("it has more")
	case err != nil && !errors.Is(err, io.EOF):
		return n, err
	}
	return n, nil
}

func (u *unpacker) close() {
	if u.zstd != nil {
		u.zstd.Close()
	}
}
