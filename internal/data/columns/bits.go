package columns

import "encoding/binary"

// runs reads the hybrid of run lengths and bit packing that encodes levels and
// indexes.
type runs struct {
	data   []byte
	width  uint
	left   uint64 // of the run
	packed bool
	value  uint32 // of a run of equal values
	bits   uint64
	have   uint // number of bits in bits
}

func newRuns(data []byte, width uint) runs { return runs{data: data, width: width} }

// next returns the next value; it throws at the end of the data.
func (r *runs) next() uint32 {
	for r.left == 0 {
		head, n := binary.Uvarint(r.data)
		if n <= 0 {
			throw("its levels or indexes end too early")
		}
		r.data = r.data[n:]
		if r.packed = head&1 == 1; r.packed {
			r.left, r.bits, r.have = head>>1<<3, 0, 0
			continue
		}
		r.left = head >> 1
		size := int(r.width+7) / 8
		if len(r.data) < size {
			throw("its levels or indexes end too early")
		}
		r.value = 0
		for i := range size {
			r.value |= uint32(r.data[i]) << (8 * i)
		}
		r.data = r.data[size:]
	}
	r.left--
	if !r.packed {
		return r.value
	}
	for r.have < r.width {
		if len(r.data) == 0 {
			throw("its levels or indexes end too early")
		}
		r.bits |= uint64(r.data[0]) << r.have
		r.data = r.data[1:]
		r.have += 8
	}
	x := uint32(r.bits & (1<<r.width - 1))
	r.bits >>= r.width
	r.have -= r.width
	return x
}

// widthOf returns the number of bits for values up to most.
func widthOf(most int) uint {
	n := uint(0)
	for ; most > 0; most >>= 1 {
		n++
	}
	return n
}
