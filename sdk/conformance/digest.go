package conformance

import (
	"encoding/binary"
	"math"
)

// digest is FNV-1a, 32 bits, over a canonical form: whole numbers and lengths
// are 4 bytes, float64 is 8 bytes, all little-endian; a string is its length
// in bytes and its bytes.
type digest uint32

const newDigest digest = 2166136261

func (d *digest) bytes(b []byte) {
	for _, c := range b {
		*d = (*d ^ digest(c)) * 16777619
	}
}

func (d *digest) num(n int) { d.bytes(binary.LittleEndian.AppendUint32(nil, uint32(n))) }

func (d *digest) float(f float64) {
	d.bytes(binary.LittleEndian.AppendUint64(nil, math.Float64bits(f)))
}

func (d *digest) str(s string) {
	d.num(len(s))
	d.bytes([]byte(s))
}

func (d *digest) bool(b bool) {
	if b {
		d.num(1)
	} else {
		d.num(0)
	}
}
