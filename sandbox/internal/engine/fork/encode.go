package fork

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"io"
)

// The format, with numbers in little-endian order:
//
//	magic, version u32, the sum of the origin, the number of points u32
//	for each point: 0, if it was dropped; or 1 and
//	    its system (wasi.State.Append)
//	    the number of globals u32, each u64
//	    the size of the memory u64 (0 if there is none), the number of pages u32
//	    for each page: its number u32; an index u32
//	        index 0: the page is new: its mask u64, and its blocks
//	        index n: the n-th new page so far
//	the SHA-256 of all that
//
// Pages with the same content are new once, so equal points have equal encodings,
// whichever pages they share in memory.
const (
	magic         = "MERITFRK"
	formatVersion = 1

	bufferBytes = 1 << 13 // of reads and writes
)

// Encode writes points of one origin, so that Decode restores them in another process.
// A nil point stands for one that was dropped.
func Encode(w io.Writer, origin *Origin, points []*Point) error {
	sum := sha256.New()
	buffer := bufio.NewWriterSize(io.MultiWriter(w, sum), bufferBytes)
	e := encoder{out: buffer, sum: sum, pages: map[*page]uint32{}, content: map[[32]byte]uint32{}}
	e.put([]byte(magic))
	e.put32(formatVersion)
	e.put(origin.Sum[:])
	e.put32(uint32(len(points)))
	for _, p := range points {
		if err := e.point(origin, p); err != nil {
			return err
		}
	}
	if err := buffer.Flush(); err != nil {
		return err
	}
	_, err := w.Write(sum.Sum(nil))
	return err
}

type encoder struct {
	out     *bufio.Writer // keeps its error until Flush
	sum     hash.Hash
	pages   map[*page]uint32    // their indices
	content map[[32]byte]uint32 // the same by what they hold
	scratch []byte
}

func (e *encoder) put(b []byte) { _, _ = e.out.Write(b) }

func (e *encoder) put32(v uint32) { e.put(binary.LittleEndian.AppendUint32(e.scratch[:0], v)) }

func (e *encoder) put64(v uint64) { e.put(binary.LittleEndian.AppendUint64(e.scratch[:0], v)) }

func (e *encoder) point(origin *Origin, p *Point) error {
	if p == nil {
		return e.out.WriteByte(0)
	}
	if !origin.Is(p.Origin) {
		return ErrForeign
	}
	_ = e.out.WriteByte(1)
	e.scratch = p.System.Append(e.scratch[:0])
	e.put(e.scratch)
	e.put32(uint32(len(p.Globals)))
	for _, g := range p.Globals {
		e.put64(g)
	}
	e.put64(uint64(p.Pages.size))
	e.put32(uint32(len(p.Pages.numbers)))
	for n, number := range p.Pages.numbers {
		e.put32(number)
		e.page(p.Pages.pages[n])
	}
	return nil
}

// page writes the index of a page, and the page if it is new.
func (e *encoder) page(p *page) {
	index, known := e.pages[p]
	if !known {
		content := sha256.Sum256(append(binary.LittleEndian.AppendUint64(nil, p.mask), p.data...))
		if index, known = e.content[content]; !known {
			index = uint32(len(e.content) + 1)
			e.content[content] = index
		}
		e.pages[p] = index
	}
	if known {
		e.put32(index)
		return
	}
	e.put32(0)
	e.put64(p.mask)
	e.put(p.data)
}
