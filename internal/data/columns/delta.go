package columns

import "encoding/binary"

// deltas reads integers of the encoding DELTA_BINARY_PACKED.
type deltas struct {
	data    []byte
	perMini int
	minis   int
	left    int // values
	value   uint64
	first   bool
	min     uint64
	widths  []byte
	mini    []byte // the rest of the miniblock
	inMini  int    // values in it
	bits    uint64
	have    uint
}

const maxBlock = 1 << 20 // values

// newDeltas reads the header. Reading more than left values throws an
// error.
func newDeltas(data []byte) deltas {
	d := deltas{data: data, first: true}
	block, minis, left := d.varint(), d.varint(), d.varint()
	first := d.varint()
	if block == 0 || block > maxBlock || minis == 0 || minis > block || block%minis != 0 || (block/minis)%8 != 0 || left > 1<<31 {
		throw("the header of its deltas is invalid")
	}
	d.perMini, d.minis, d.left, d.value = int(block/minis), int(minis), int(left), unzigzag(first)
	return d
}

func (d *deltas) varint() uint64 {
	x, n := binary.Uvarint(d.data)
	if n <= 0 {
		throw("its deltas end too early")
	}
	d.data = d.data[n:]
	return x
}

func unzigzag(x uint64) uint64 { return x>>1 ^ -(x & 1) }

func (d *deltas) next() int64 {
	if d.left == 0 {
		throw("its deltas end too early")
	}
	d.left--
	if d.first {
		d.first = false
		return int64(d.value)
	}
	if d.inMini == 0 {
		d.open()
	}
	d.inMini--
	width := uint(d.widths[0])
	x := uint64(0)
	for got := uint(0); got < width; {
		if d.have == 0 {
			d.bits, d.mini, d.have = uint64(d.mini[0]), d.mini[1:], 8
		}
		take := min(d.have, width-got)
		x |= d.bits & (1<<take - 1) << got
		d.bits >>= take
		d.have -= take
		got += take
	}
	if d.inMini == 0 {
		d.widths = d.widths[1:]
	}
	d.value += d.min + x
	return int64(d.value)
}

// open starts the next miniblock.
func (d *deltas) open() {
	if len(d.widths) == 0 {
		d.min = unzigzag(d.varint())
		if len(d.data) < d.minis {
			throw("its deltas end too early")
		}
		d.widths, d.data = d.data[:d.minis], d.data[d.minis:]
	}
	width := int(d.widths[0])
	size := width * d.perMini / 8
	if width > 64 || size > len(d.data) {
		throw("its deltas end too early")
	}
	d.mini, d.data, d.inMini, d.have = d.data[:size], d.data[size:], d.perMini, 0
}

// split returns the deltas at the start of data and the bytes after them.
func split(data []byte) (d deltas, rest []byte) {
	d = newDeltas(data)
	walk := d
	for left := d.left - 1; left > 0; left -= walk.perMini {
		walk.open()
		walk.widths = walk.widths[1:]
	}
	return d, walk.data
}
