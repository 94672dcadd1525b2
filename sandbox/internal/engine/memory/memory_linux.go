package memory

import (
	"fmt"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// New returns a mapped memory if the kernel can list dirty pages (6.7 and
// later) and the address space allows it, otherwise the portable one.
func (s *Space) New(limit uint64) Linear {
	if pages() == nil {
		return newCopied(limit)
	}
	if s.mapped.Add(int64(limit)) <= s.Most || s.Most == 0 {
		if m, err := newMapped(limit); err == nil {
			m.release = func() { s.mapped.Add(-int64(limit)) }
			return m
		}
	}
	s.mapped.Add(-int64(limit))
	return newCopied(limit)
}

var pages = sync.OnceValue(openPagemap)

const (
	// Up to stickyPages dirty pages are cheap to copy back each time. If there
	// are more, they are returned to the snapshot after stickyRounds restores:
	// a copy costs a twentieth of the fault that makes a page dirty again.
	stickyPages  = 512
	stickyRounds = 64
	// Pages that were only read cost time too, because the kernel examines each
	// when it lists the dirty ones. The first firstRounds restores show what
	// most evaluations do not read again; what accumulates later is dropped
	// after staleRounds.
	firstRounds = 8
	staleRounds = 4096
	// Python rewards write to 30 to 100 regions, which one call lists.
	mostRegions = 256
)

// mapped is a private mapping over an image, which is an in-memory file. Pages
// that were written are private; PAGEMAP_SCAN finds them, and they are copied
// back. They stay private, so that they do not fault again.
type mapped struct {
	sized
	buf     []byte // the whole reservation
	size    uint64
	image   *Image
	regions [mostRegions]region
	rounds  int    // restores since pages were returned
	dirty   int    // private pages at the last restore
	release func() // frees the reservation's share of Space
}

func newMapped(limit uint64) (*mapped, error) {
	limit = (limit + PageBytes - 1) &^ (PageBytes - 1)
	buf, err := unix.Mmap(-1, 0, int(limit), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, err
	}
	return &mapped{sized: sized{limit: limit}, buf: buf, release: func() {}}, nil
}

// Reallocate implements experimental.LinearMemory.
func (m *mapped) Reallocate(size uint64) []byte {
	if !m.admit(size) {
		return nil
	}
	m.size = size
	return m.buf[:size:size]
}

// Free implements experimental.LinearMemory.
func (m *mapped) Free() {
	_ = unix.Munmap(m.buf)
	m.image, m.buf = nil, nil
	m.release()
}

// Bytes implements Linear.
func (m *mapped) Bytes() []byte { return m.buf[:m.size] }

// Adopt implements Linear.
func (m *mapped) Adopt(i *Image) error {
	if i.Size() > 0 {
		_, err := unix.MmapPtr(i.file, 0, unsafe.Pointer(&m.buf[0]), uintptr(i.Size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_FIXED)
		if err != nil {
			return fmt.Errorf("snapshot: %w", err)
		}
	}
	m.image, m.rounds = i, staleRounds-firstRounds
	return nil
}

// Restore implements Linear.
func (m *mapped) Restore() (uint32, error) {
	kept := uint64(m.image.Size())
	if err := m.Truncate(kept); err != nil {
		return 0, err
	}
	if err := m.Tidy(); err != nil {
		return 0, err
	}
	return uint32(kept), m.Changed(func(lo, hi int) { copyPieces(m.buf[lo:hi], m.image.Data[lo:hi]) })
}

// Image implements Linear.
func (m *mapped) Image() []byte { return m.image.Data }

// Truncate implements Linear.
func (m *mapped) Truncate(size uint64) error {
	if m.size <= size {
		return nil
	}
	err := m.giveBack(size, m.size)
	m.size = size
	return err
}

// Tidy implements Linear.
func (m *mapped) Tidy() error {
	if m.rounds++; m.rounds < staleRounds && (m.dirty <= stickyPages || m.rounds < stickyRounds) {
		return nil
	}
	m.rounds = 0
	return m.giveBack(0, m.size)
}

// giveBack returns pages to the image, or to zero after it.
func (m *mapped) giveBack(from, to uint64) error {
	if from == to {
		return nil
	}
	if err := unix.Madvise(m.buf[from:to], unix.MADV_DONTNEED); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	return nil
}

// Changed implements Linear: it yields the private pages, and counts them.
func (m *mapped) Changed(each func(lo, hi int)) error {
	m.dirty = 0
	if m.size == 0 {
		return nil
	}
	base := uintptr(unsafe.Pointer(&m.buf[0]))
	end := base + uintptr(m.size)
	for from := base; from < end; {
		n, next, err := pages().private(from, end, m.regions[:])
		if err != nil {
			return fmt.Errorf("restore: %w", err)
		}
		for _, r := range m.regions[:n] {
			lo, hi := int(uintptr(r.start)-base), int(uintptr(r.end)-base)
			each(lo, hi)
			m.dirty += (hi - lo) / ImagePage
		}
		from = next
	}
	return nil
}
