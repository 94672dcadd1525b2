package columns

import (
	"encoding/binary"

	"github.com/parquet-go/parquet-go/format"
)

// scalar is one stored value of a column: the bits of a number, or bytes.
type scalar struct {
	bits  uint64
	bytes []byte // in the page; valid until the next page is read
}

// values reads the values of a page one by one; it throws at the end of the data.
type values interface{ next() scalar }

// oldDictionary is the name of RLEDictionary in older files.
const oldDictionary = format.Encoding(2)

// newValues returns the values of a page with the given encoding.
func newValues(l *leaf, encoding format.Encoding, data []byte) values {
	switch encoding {
	case format.Plain:
		return &plain{data: data, kind: l.physical, width: l.width}
	case oldDictionary, format.RLEDictionary:
		if l.dictionary == nil {
			throw("a page refers to a missing dictionary")
		}
		if len(data) == 0 || data[0] > 32 {
			throw("the width of its indexes is missing, or more than 32 bits")
		}
		return &looked{in: l.dictionary, at: newRuns(data[1:], uint(data[0]))}
	case format.RLE:
		if l.physical != format.Boolean || len(data) < 4 {
			break
		}
		size := binary.LittleEndian.Uint32(data)
		if uint64(size) > uint64(len(data)-4) {
			throw("its runs end too early")
		}
		return &flags{newRuns(data[4:4+size], 1)}
	case format.DeltaBinaryPacked:
		if l.physical == format.Int32 || l.physical == format.Int64 {
			return &numbers{newDeltas(data)}
		}
	case format.DeltaLengthByteArray:
		if l.physical == format.ByteArray {
			lengths, rest := split(data)
			return &lengthened{lengths, rest}
		}
	case format.DeltaByteArray:
		if l.physical == format.ByteArray || l.physical == format.FixedLenByteArray {
			shared, rest := split(data)
			lengths, rest := split(rest)
			return &prefixed{shared: shared, suffixes: lengthened{lengths, rest}, most: l.width}
		}
	case format.ByteStreamSplit:
		if w := l.width; w > 0 && l.physical != format.Boolean {
			return &striped{data: data, width: w, count: len(data) / w, fixed: l.physical == format.FixedLenByteArray}
		}
	}
	throw("a page of %s has the unsupported encoding %s", l.physical, encoding)
	return nil
}

// plain reads values that are stored one after the other.
type plain struct {
	data  []byte
	kind  format.Type
	width int // bytes of a value; 0 if each has a length
	bit   uint
}

func (p *plain) next() scalar {
	if p.kind == format.Boolean {
		if len(p.data) == 0 {
			throw("its values end too early")
		}
		x := uint64(p.data[0]) >> p.bit & 1
		if p.bit++; p.bit == 8 {
			p.bit, p.data = 0, p.data[1:]
		}
		return scalar{bits: x}
	}
	width := p.width
	if p.kind == format.ByteArray {
		if len(p.data) < 4 {
			throw("its values end too early")
		}
		n := binary.LittleEndian.Uint32(p.data)
		if uint64(n) > uint64(len(p.data)-4) {
			throw("a value of %d bytes is longer than its page", n)
		}
		p.data, width = p.data[4:], int(n)
	}
	if width > len(p.data) {
		throw("its values end too early")
	}
	raw := p.data[:width:width]
	p.data = p.data[width:]
	return stored(raw, p.kind)
}

// stored converts bytes to a scalar.
func stored(raw []byte, kind format.Type) scalar {
	switch kind {
	case format.Int32, format.Float:
		return scalar{bits: uint64(binary.LittleEndian.Uint32(raw))}
	case format.Int64, format.Double:
		return scalar{bits: binary.LittleEndian.Uint64(raw)}
	}
	return scalar{bytes: raw}
}

// dictionary holds the distinct values of a column as positions in its page.
type dictionary struct {
	page    []byte
	offsets []uint32 // of byte arrays
	count   int
	leaf    *leaf
}

func newDictionary(l *leaf, count int, page []byte) *dictionary {
	d := &dictionary{page: page, count: count, leaf: l}
	switch {
	case l.physical == format.Boolean:
		throw("it has a dictionary of booleans")
	case l.physical != format.ByteArray:
		if l.width == 0 || count > len(page)/l.width {
			throw("its dictionary ends too early")
		}
		return d
	case count > len(page)/4:
		throw("its dictionary ends too early")
	}
	if count > cap(l.offsets) {
		l.file.hold(4 * (count - cap(l.offsets)))
		l.offsets = make([]uint32, count)
	}
	d.offsets = l.offsets[:count]
	at := 0
	for i := range d.offsets {
		if len(page)-at < 4 {
			throw("its dictionary ends too early")
		}
		n := binary.LittleEndian.Uint32(page[at:])
		if uint64(n) > uint64(len(page)-at-4) {
			throw("its dictionary ends too early")
		}
		d.offsets[i] = uint32(at)
		at += 4 + int(n)
	}
	return d
}

func (d *dictionary) at(i uint32) scalar {
	if uint64(i) >= uint64(d.count) {
		throw("index %d is outside of a dictionary of %d values", i, d.count)
	}
	if d.offsets != nil {
		p := plain{data: d.page[d.offsets[i]:], kind: format.ByteArray}
		return p.next()
	}
	w := d.leaf.width
	return stored(d.page[int(i)*w:int(i+1)*w], d.leaf.physical)
}

type looked struct {
	in *dictionary
	at runs
}

func (v *looked) next() scalar { return v.in.at(v.at.next()) }

type flags struct{ runs }

func (v *flags) next() scalar { return scalar{bits: uint64(v.runs.next())} }

type numbers struct{ deltas }

func (v *numbers) next() scalar { return scalar{bits: uint64(v.deltas.next())} }

// lengthened reads byte arrays that follow all their lengths.
type lengthened struct {
	lengths deltas
	data    []byte
}

func (v *lengthened) next() scalar {
	n := v.lengths.next()
	if n < 0 || n > int64(len(v.data)) {
		throw("a value of %d bytes is longer than its page", n)
	}
	raw := v.data[:n:n]
	v.data = v.data[n:]
	return scalar{bytes: raw}
}

// prefixed reads byte arrays that share a prefix with the previous one.
type prefixed struct {
	shared   deltas
	suffixes lengthened
	last     []byte
	most     int // the length of all values, if not 0
}

func (v *prefixed) next() scalar {
	n, rest := v.shared.next(), v.suffixes.next().bytes
	if n < 0 || n > int64(len(v.last)) || int(n)+len(rest) > maxPage || v.most > 0 && int(n)+len(rest) != v.most {
		throw("a value shares %d bytes with one of only %d bytes", n, len(v.last))
	}
	v.last = append(v.last[:n], rest...)
	return scalar{bytes: v.last}
}

// striped reads values whose first bytes are all stored first, then their second bytes, and
// so on.
type striped struct {
	data         []byte
	width, count int
	i            int
	fixed        bool
	raw          [16]byte
	long         []byte
}

func (v *striped) next() scalar {
	if v.i >= v.count {
		throw("its values end too early")
	}
	raw := v.raw[:0]
	if v.width > len(v.raw) {
		raw = v.long[:0]
	}
	for k := range v.width {
		raw = append(raw, v.data[k*v.count+v.i])
	}
	v.i++
	if v.width > len(v.raw) {
		v.long = raw
	}
	kind := format.FixedLenByteArray
	if !v.fixed {
		kind = format.Int64
		if v.width == 4 {
			kind = format.Int32
		}
	}
	return stored(raw, kind)
}
