package fork

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"math/bits"

	"github.com/merit-rl/merit/sandbox/internal/engine/memory"
	"github.com/merit-rl/merit/sandbox/internal/engine/wasi"
)

// Decode reads what Encode wrote for an origin, all of r. The points may take most
// bytes of memory. A point that was dropped is nil. The error is ErrVersion, ErrForeign,
// ErrTruncated, ErrCorrupt, ErrTooLarge or that of r.
func Decode(r io.Reader, origin *Origin, most int64) ([]*Point, error) {
	d := &decoder{in: bufio.NewReaderSize(r, bufferBytes), sum: sha256.New(), origin: origin, room: most}
	points, err := d.all()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = ErrTruncated
	}
	if err != nil {
		return nil, err
	}
	return points, nil
}

type decoder struct {
	in     *bufio.Reader
	sum    hash.Hash
	origin *Origin
	room   int64 // that the points may still take
	pages  []*page
	buf    [sha256.Size]byte
}

func (d *decoder) all() ([]*Point, error) {
	if err := d.head(); err != nil {
		return nil, err
	}
	count, err := d.take32()
	if err != nil {
		return nil, err
	}
	var points []*Point // grows as the points are read: the count may be wrong
	for range count {
		p, err := d.point()
		if err != nil {
			return nil, err
		}
		points = append(points, p)
	}
	return points, d.end()
}

// read fills b and adds it to the checksum.
func (d *decoder) read(b []byte) error {
	_, err := io.ReadFull(d.in, b)
	d.sum.Write(b)
	return err
}

func (d *decoder) take32() (uint32, error) {
	err := d.read(d.buf[:4])
	return binary.LittleEndian.Uint32(d.buf[:4]), err
}

func (d *decoder) take64() (uint64, error) {
	err := d.read(d.buf[:8])
	return binary.LittleEndian.Uint64(d.buf[:8]), err
}

// weigh takes n bytes from the budget.
func (d *decoder) weigh(n int) error {
	if d.room -= int64(n); d.room < 0 {
		return ErrTooLarge
	}
	return nil
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}

// head reads magic, version and the sum of the origin.
func (d *decoder) head() error {
	if err := d.read(d.buf[:len(magic)]); err != nil {
		return err
	}
	if string(d.buf[:len(magic)]) != magic {
		return corrupt("they do not begin with %s", magic)
	}
	version, err := d.take32()
	if err != nil {
		return err
	}
	if version != formatVersion {
		return fmt.Errorf("%w: version %d, not %d", ErrVersion, version, formatVersion)
	}
	if err := d.read(d.buf[:]); err != nil {
		return err
	}
	if d.buf != d.origin.Sum {
		return ErrForeign
	}
	return nil
}

// end reads the checksum, and nothing after it.
func (d *decoder) end() error {
	want := d.sum.Sum(nil)
	if _, err := io.ReadFull(d.in, d.buf[:]); err != nil {
		return err
	}
	if string(want) != string(d.buf[:]) {
		return corrupt("the checksum does not match")
	}
	switch _, err := d.in.ReadByte(); {
	case err == nil:
		return corrupt("bytes follow the checksum")
	case !errors.Is(err, io.EOF):
		return err
	}
	return nil
}

func (d *decoder) point() (p *Point, err error) {
	if err := d.read(d.buf[:1]); err != nil {
		return nil, err
	}
	switch d.buf[0] {
	case 0:
		return nil, d.weigh(8)
	case 1:
	default:
		return nil, corrupt("a point has the unknown kind %d", d.buf[0])
	}
	p = &Point{Origin: d.origin}
	if err := d.weigh(pointWeight); err != nil {
		return nil, err
	}
	if err := d.system(p); err != nil {
		return nil, err
	}
	if err := d.globals(p); err != nil {
		return nil, err
	}
	p.Pages, err = d.memory()
	return p, err
}

func (d *decoder) system(p *Point) (err error) {
	p.System, err = wasi.ReadState(d.read, d.origin.Files)
	if errors.Is(err, wasi.ErrState) {
		return corrupt("%v", err)
	}
	if err != nil {
		return err
	}
	return d.weigh(p.System.Weight())
}

func (d *decoder) globals(p *Point) error {
	count, err := d.take32()
	for ; count > 0 && err == nil; count-- {
		var g uint64
		if g, err = d.take64(); err == nil {
			p.Globals = append(p.Globals, g)
			err = d.weigh(globalWeight)
		}
	}
	return err
}

// memory reads the pages of a point.
func (d *decoder) memory() (*Pages, error) {
	size, err := d.take64()
	if err != nil {
		return nil, err
	}
	if size%memory.PageBytes != 0 || size > 1<<32 {
		return nil, corrupt("a memory has %d bytes", size)
	}
	count, err := d.take32()
	p := &Pages{size: int(size)}
	for ; count > 0 && err == nil; count-- {
		err = d.page(p)
	}
	return p, err
}

// page reads one page of p.
func (d *decoder) page(p *Pages) error {
	number, err := d.take32()
	if err != nil {
		return err
	}
	if last := len(p.numbers) - 1; int(number) >= p.size/pageBytes || last >= 0 && number <= p.numbers[last] {
		return corrupt("page %d is not where it should be", number)
	}
	index, err := d.take32()
	if err != nil {
		return err
	}
	if index == 0 {
		if err := d.newPage(); err != nil {
			return err
		}
		index = uint32(len(d.pages))
	}
	if int64(index) > int64(len(d.pages)) {
		return corrupt("page %d is a copy of a page that does not exist", number)
	}
	p.numbers, p.pages = append(p.numbers, number), append(p.pages, d.pages[index-1])
	return d.weigh(numberWeight)
}

// newPage reads a page that is not the copy of another.
func (d *decoder) newPage() error {
	mask, err := d.take64()
	if err != nil {
		return err
	}
	if mask == 0 || bits.Len64(mask) > blocks {
		return corrupt("a page has no blocks, or too many")
	}
	p := &page{mask: mask, data: make([]byte, bits.OnesCount64(mask)*blockBytes)}
	if err := d.weigh(pageWeight + len(p.data)); err != nil {
		return err
	}
	d.pages = append(d.pages, p)
	return d.read(p.data)
}
