package learn

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/merit-rl/merit/core/fault"
)

// stateMagic opens an encoded State; a byte with the version follows.
const stateMagic = "MERITNN"

// The versions: without and with the coefficient of a controller.
const (
	statePlain      = 1
	stateControlled = 2
)

// maxArchitecture bounds the description in an encoded State.
const maxArchitecture = 1 << 20

// MarshalBinary encodes s; equal states have equal bytes. Layout, numbers
// little-endian:
//
//	magic and version  8 bytes
//	updates, steps     uint64 each
//	KL coefficient     float64; in version 2 only, which is used unless it is 0
//	architecture       uint32 length, text
//	params, adam_first, adam_second, reference: uint32 length, float32 each
//
// A reference of length 0 means that there is none.
func (s State) MarshalBinary() ([]byte, error) {
	size := len(stateMagic) + 1 + 24 + 4 + len(s.Architecture)
	for _, p := range s.parts() {
		size += 4 + 4*len(*p.values)
	}
	version := byte(statePlain)
	if s.KLCoefficient != 0 {
		version = stateControlled
	}
	b := append(append(make([]byte, 0, size), stateMagic...), version)
	b = binary.LittleEndian.AppendUint64(b, s.Updates)
	b = binary.LittleEndian.AppendUint64(b, s.Steps)
	if version == stateControlled {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(s.KLCoefficient))
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(s.Architecture)))
	b = append(b, s.Architecture...)
	for _, p := range s.parts() {
		if len(*p.values) > maxParameters {
			return nil, fmt.Errorf("%s: %d numbers exceed the limit for a state", p.name, len(*p.values))
		}
		b = binary.LittleEndian.AppendUint32(b, uint32(len(*p.values)))
		for _, v := range *p.values {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
	}
	return b, nil
}

// UnmarshalBinary decodes what MarshalBinary wrote. Whether it fits a policy is
// checked by Restore and Load.
func (s *State) UnmarshalBinary(data []byte) error {
	r := stateReader{rest: data}
	magic, version := r.take("header", len(stateMagic)), r.take("header", 1)
	if r.err == nil && (string(magic) != stateMagic || version[0] != statePlain && version[0] != stateControlled) {
		r.fail("the header does not belong to a learner state of version 1 or 2")
	}
	var d State
	d.Updates, d.Steps = r.uint64("updates"), r.uint64("steps")
	if r.err == nil && version[0] == stateControlled {
		d.KLCoefficient = math.Float64frombits(r.uint64("KL coefficient"))
		if k := d.KLCoefficient; !(k > 0 && k <= maxKLCoefficient) {
			r.fail(fmt.Sprintf("its KL coefficient is %v", k))
		}
	}
	d.Architecture = string(r.take("architecture", r.length("architecture", maxArchitecture)))
	for _, p := range d.parts() {
		raw := r.take(p.name, 4*r.length(p.name, maxParameters))
		if len(raw) == 0 {
			continue
		}
		*p.values = make([]float32, len(raw)/4)
		for i := range *p.values {
			(*p.values)[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		}
	}
	if len(r.rest) > 0 {
		r.fail(fmt.Sprintf("%d bytes follow its last section", len(r.rest)))
	}
	if r.err == nil {
		*s = d
	}
	return r.err
}

// stateReader takes an encoded State apart until the first error.
type stateReader struct {
	rest []byte
	err  error
}

func (r *stateReader) fail(what string) {
	if r.err == nil {
		r.err = &fault.Error{
			Boundary: fault.Storage, Kind: fault.Corrupt, What: "learner state: " + what,
			Hint: "use another checkpoint: this one is damaged, or another version of Merit wrote it",
		}
	}
}

func (r *stateReader) take(what string, n int) []byte {
	if r.err == nil && n > len(r.rest) {
		r.fail(fmt.Sprintf("%s ends after %d of %d bytes", what, len(r.rest), n))
	}
	if r.err != nil {
		return nil
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *stateReader) uint64(what string) uint64 {
	if b := r.take(what, 8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *stateReader) length(what string, most uint32) int {
	b := r.take(what, 4)
	if b == nil {
		return 0
	}
	n := binary.LittleEndian.Uint32(b)
	if n > most {
		r.fail(fmt.Sprintf("%s claims %d entries, more than %d", what, n, most))
		return 0
	}
	return int(n)
}
