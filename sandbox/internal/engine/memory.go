package engine

import (
	"bytes"
	"iter"

	"github.com/tetratelabs/wazero/experimental"
)

// linear is the memory of one guest.
type linear interface {
	experimental.LinearMemory
	// bytes is the content.
	bytes() []byte
	// adopt makes an image the content, now and after restore. The memory is as
	// large as the image at least.
	adopt(*image) error
	// restore brings the image back and returns its size. What lies behind it is
	// zero when the guest grows into it again.
	restore() (size uint32, err error)
	// denied reports whether a growth was refused since forget.
	denied() bool
	forget()
}

// sized holds the limit, for both kinds of memory.
type sized struct {
	limit   uint64
	refused bool
}

func (s *sized) admit(size uint64) bool {
	if size > s.limit {
		s.refused = true
		return false
	}
	return true
}

func (s *sized) denied() bool { return s.refused }
func (s *sized) forget()      { s.refused = false }

// piece is what is copied in one step: Go cannot preempt a copy.
const piece = 256 << 10

func copyPieces(dst, src []byte) (n int) {
	for n < min(len(dst), len(src)) {
		n += copy(dst[n:min(n+piece, len(dst))], src[n:])
	}
	return n
}

func clearPieces(b []byte) {
	for len(b) > 0 {
		n := min(piece, len(b))
		clear(b[:n])
		b = b[n:]
	}
}

// copied is the portable memory: on Go's heap, restored as a whole.
type copied struct {
	sized
	buf   []byte
	image *image
}

func newCopied(limit uint64) *copied { return &copied{sized: sized{limit: limit}} }

// Reallocate implements experimental.LinearMemory.
func (c *copied) Reallocate(size uint64) []byte {
	if !c.admit(size) {
		return nil
	}
	if size > uint64(cap(c.buf)) {
		grown := make([]byte, size, min(max(size, 2*uint64(cap(c.buf))), c.limit))
		copy(grown, c.buf)
		c.buf = grown
	}
	c.buf = c.buf[:size]
	return c.buf
}

// Free implements experimental.LinearMemory.
func (c *copied) Free() { c.buf, c.image = nil, nil }

func (c *copied) bytes() []byte { return c.buf }

func (c *copied) adopt(i *image) error {
	c.image = i
	return nil
}

func (c *copied) restore() (uint32, error) {
	n := copyPieces(c.buf, c.image.data)
	clearPieces(c.buf[n:])
	return uint32(n), nil
}

// takeImage copies a memory; pages of zeros, of which a large memory has many,
// take no room.
func takeImage(content []byte) (*image, error) {
	i, err := newImage(len(content))
	if err != nil {
		return nil, err
	}
	for n, page := range written(content) {
		copy(i.data[n*statePage:], page)
	}
	return i, nil
}

// statePage is the grain in which memory is kept.
const statePage = 4096

// written yields the pages that are not zero, with their numbers.
func written(content []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		for n := range len(content) / statePage {
			page := content[n*statePage : (n+1)*statePage]
			if !bytes.Equal(page, zeros[:]) && !yield(n, page) {
				return
			}
		}
	}
}

var zeros [statePage]byte
