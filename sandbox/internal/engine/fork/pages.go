package fork

import (
	"bytes"
	"math/bits"
	"slices"
	"sync"

	"github.com/merit-rl/merit/sandbox/internal/engine/memory"
)

// Pages are the pages of a memory that differ from the image of its origin. They never
// change; equal pages of successive points are shared.
type Pages struct {
	size    int      // of the memory, in bytes
	numbers []uint32 // of the pages, ascending
	pages   []*page
}

// page holds the blocks of one page that differ from the image.
type page struct {
	mask uint64 // bit n: block n differs
	data []byte // the blocks that differ, one after the other
	refs int    // how many points of a store have it; the store's mutex guards it
}

const (
	pageBytes = memory.ImagePage
	// A step writes a few words to each page that it touches, so blocks are much
	// smaller than pages. Comparing smaller ones takes longer.
	blockBytes = 128
	blocks     = pageBytes / blockBytes
)

// Size returns the size of the memory in bytes.
func (p *Pages) Size() int { return p.size }

var zeros [pageBytes]byte

// pageOf returns page n of an image, which ends in zeros.
func pageOf(image []byte, n int) []byte {
	if at := n * pageBytes; at < len(image) {
		return image[at : at+pageBytes]
	}
	return zeros[:]
}

// block returns block n of a page.
func block(page []byte, n int) []byte { return page[n*blockBytes : (n+1)*blockBytes] }

// newPage returns how now differs from base, or nil if it does not.
func newPage(now, base []byte) *page {
	p := &page{}
	for n := range blocks {
		if !bytes.Equal(block(now, n), block(base, n)) {
			p.mask |= 1 << n
		}
	}
	if p.mask == 0 {
		return nil
	}
	p.data = make([]byte, 0, bits.OnesCount64(p.mask)*blockBytes)
	for m := p.mask; m != 0; m &= m - 1 {
		p.data = append(p.data, block(now, bits.TrailingZeros64(m))...)
	}
	return p
}

// runs calls each with the stretches of the page over base that come from the same
// source: at is where a stretch begins, content what is there. It stops if each
// returns false, and returns whether it did not. A nil page is base.
func (p *page) runs(base []byte, each func(at int, content []byte) bool) bool {
	if p == nil {
		return each(0, base)
	}
	for n, taken := 0, 0; n < blocks; {
		rest := p.mask >> n
		own := rest&1 != 0
		if own {
			rest = ^rest
		}
		length := min(bits.TrailingZeros64(rest), blocks-n)
		content := base[n*blockBytes : (n+length)*blockBytes]
		if own {
			content = p.data[taken : taken+length*blockBytes]
			taken += len(content)
		}
		if !each(n*blockBytes, content) {
			return false
		}
		n += length
	}
	return true
}

// is reports whether now is the page.
func (p *page) is(now, base []byte) bool {
	return p.runs(base, func(at int, content []byte) bool { return bytes.Equal(now[at:at+len(content)], content) })
}

// put writes the page, where it differs, to now.
func (p *page) put(now, base []byte) {
	p.runs(base, func(at int, content []byte) bool {
		if !bytes.Equal(now[at:at+len(content)], content) {
			copy(now[at:], content)
		}
		return true
	})
}

// walk visits the pages of a memory that may differ from the image, together with a
// list of pages. Walks are used again: most steps differ in few pages, and what a walk
// allocates would cost more than what it does.
type walk struct {
	now, image []byte
	list       *Pages
	next       int // in list
	numbers    []uint32
	pages      []*page
	compare    func(lo, hi int)
	write      func(lo, hi int)
}

var walks = sync.Pool{New: func() any {
	w := &walk{}
	w.compare, w.write = w.compareRange, w.writeRange
	return w
}}

var none = &Pages{}

// over runs do with a walk over a memory and a list.
func over(m memory.Linear, list *Pages, do func(w *walk) error) error {
	w := walks.Get().(*walk)
	defer walks.Put(w)
	if list == nil {
		list = none
	}
	w.now, w.image, w.list, w.next = m.Bytes(), m.Image(), list, 0
	err := do(w)
	clear(w.pages)
	w.now, w.image, w.list, w.numbers, w.pages = nil, nil, nil, w.numbers[:0], w.pages[:0]
	return err
}

// listed returns page n of the list, or nil, and moves past it.
func (w *walk) listed(n int) *page {
	for ; w.next < len(w.list.numbers) && int(w.list.numbers[w.next]) <= n; w.next++ {
		if int(w.list.numbers[w.next]) == n {
			w.next++
			return w.list.pages[w.next-1]
		}
	}
	return nil
}

// Diff returns the pages of m. It shares those that are still as in held, what m
// last was, or nil.
func Diff(m memory.Linear, held *Pages) (p *Pages, err error) {
	err = over(m, held, func(w *walk) error {
		if err := m.Changed(w.compare); err != nil {
			return err
		}
		p = &Pages{size: len(w.now), numbers: w.list.numbers, pages: slices.Clone(w.pages)}
		if !slices.Equal(p.numbers, w.numbers) {
			p.numbers = slices.Clone(w.numbers)
		}
		return nil
	})
	return p, err
}

func (w *walk) compareRange(lo, hi int) {
	for n := lo / pageBytes; n < hi/pageBytes; n++ {
		now, base, p := pageOf(w.now, n), pageOf(w.image, n), w.listed(n)
		if !p.is(now, base) {
			p = newPage(now, base)
		}
		if p != nil {
			w.numbers, w.pages = append(w.numbers, uint32(n)), append(w.pages, p)
		}
	}
}

// Write makes m, which has the same size, equal to p. It writes only what differs.
func (p *Pages) Write(m memory.Linear) error {
	return over(m, p, func(w *walk) error {
		if err := m.Changed(w.write); err != nil {
			return err
		}
		w.putUpTo(len(w.now) / pageBytes)
		return nil
	})
}

func (w *walk) writeRange(lo, hi int) {
	w.putUpTo(lo / pageBytes)
	for n := lo / pageBytes; n < hi/pageBytes; n++ {
		w.listed(n).put(pageOf(w.now, n), pageOf(w.image, n))
	}
}

// putUpTo writes the listed pages before page n: the memory has the image there.
func (w *walk) putUpTo(n int) {
	for w.next < len(w.list.numbers) && int(w.list.numbers[w.next]) < n {
		at := int(w.list.numbers[w.next])
		w.listed(at).put(pageOf(w.now, at), pageOf(w.image, at))
	}
}
