package engine

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// image is the content of a memory, which any number of memories may begin
// with: a file in memory that they map, and a view of it to copy from.
type image struct {
	data []byte
	file int // or -1: on the heap, for memories that are copied as a whole
}

// newImage returns an image of zeros, in a file in memory. Where there can be
// none, as under ulimit -f, openPagemap has found that out and memories are
// copied.
func newImage(size int) (*image, error) {
	i, err := newFileImage(size)
	if err != nil && pages() == nil {
		return &image{make([]byte, size), -1}, nil
	}
	return i, err
}

func newFileImage(size int) (*image, error) {
	file, err := unix.MemfdCreate("merit-snapshot", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	i := &image{file: file}
	if size == 0 {
		return i, nil
	}
	if err = unix.Ftruncate(file, int64(size)); err == nil {
		i.data, err = unix.Mmap(file, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err != nil {
		i.close()
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	return i, nil
}

func (i *image) size() int { return len(i.data) }

func (i *image) close() {
	if i == nil || i.file < 0 {
		return
	}
	if i.data != nil {
		_ = unix.Munmap(i.data)
	}
	_ = unix.Close(i.file)
}
