// Package memory implements the linear memory of guests. It limits the memory, and
// restores it to an image in time proportional to the pages that were written.
package memory

import (
	"bytes"
	"iter"
	"sync/atomic"

	"github.com/tetratelabs/wazero/experimental"
)

// Linear is the memory of one guest.
type Linear interface {
	experimental.LinearMemory
	// Bytes returns the content.
	Bytes() []byte
	// Adopt sets the content to an image, now and after each Restore. The
	// memory must be at least as large as the image.
	Adopt(*Image) error
	// Restore restores the image and returns its size. Bytes after it are zero
	// when the guest grows the memory again.
	Restore() (size uint32, err error)
	// Image returns the content that Restore restores.
	Image() []byte
	// Changed calls each with ranges of Bytes, in order and of whole pages of
	// ImagePage bytes. Outside of them the memory is as the image, or zero after it.
	Changed(each func(lo, hi int)) error
	// Tidy counts a restore that the caller makes with the help of Changed. It may
	// restore the image, but not its size, where that makes later restores cheaper.
	Tidy() error
	// Truncate shrinks the memory. Bytes after size are zero when it grows again.
	Truncate(size uint64) error
	// Denied reports whether a growth was refused since Forget.
	Denied() bool
	// Forget resets Denied.
	Forget()
}

// Space allocates memories.
type Space struct {
	// Most limits the total address space of mapped memories, in bytes; 0 = no
	// limit.
	Most   int64
	mapped atomic.Int64
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

// Denied implements Linear.
func (s *sized) Denied() bool { return s.refused }

// Forget implements Linear.
func (s *sized) Forget() { s.refused = false }

// PageBytes is the size of a WebAssembly page.
const PageBytes = 1 << 16

// piece is how much is copied in one step: Go cannot preempt a copy.
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

// copied is the portable memory: on Go's heap, and restored as a whole.
type copied struct {
	sized
	buf   []byte
	image *Image
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

// Bytes implements Linear.
func (c *copied) Bytes() []byte { return c.buf }

// Adopt implements Linear.
func (c *copied) Adopt(i *Image) error {
	c.image = i
	return nil
}

// Restore implements Linear.
func (c *copied) Restore() (uint32, error) {
	n := copyPieces(c.buf, c.image.Data)
	clearPieces(c.buf[n:])
	return uint32(n), nil
}

// Image implements Linear.
func (c *copied) Image() []byte { return c.image.Data }

// Changed implements Linear: nothing is known of the pages.
func (c *copied) Changed(each func(lo, hi int)) error {
	each(0, len(c.buf))
	return nil
}

// Tidy implements Linear.
func (c *copied) Tidy() error { return nil }

// Truncate implements Linear.
func (c *copied) Truncate(size uint64) error {
	clearPieces(c.buf[size:])
	c.buf = c.buf[:size]
	return nil
}

// TakeImage copies a memory. Pages of zeros, of which a large memory has many,
// take no space.
func TakeImage(content []byte) (*Image, error) {
	i, err := NewImage(len(content))
	if err != nil {
		return nil, err
	}
	for _, r := range runs(content) {
		i.Write(r.First, content[r.First*ImagePage:(r.First+r.Count)*ImagePage])
	}
	return i, nil
}

// ImagePage is the unit in which memory is stored.
const ImagePage = 4096

// Written yields the pages that are not zero, with their numbers.
func Written(content []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		for n := range len(content) / ImagePage {
			page := content[n*ImagePage : (n+1)*ImagePage]
			if !bytes.Equal(page, zeros[:]) && !yield(n, page) {
				return
			}
		}
	}
}

// Run is a run of pages of ImagePage bytes.
type Run struct{ First, Count int }

// runs returns the runs of pages that are not zero.
func runs(content []byte) (list []Run) {
	for n := range Written(content) {
		if last := len(list) - 1; last >= 0 && n == list[last].First+list[last].Count {
			list[last].Count++
		} else {
			list = append(list, Run{n, 1})
		}
	}
	return list
}

var zeros [ImagePage]byte
