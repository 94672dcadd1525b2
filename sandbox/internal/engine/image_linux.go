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

// newImage makes a file in memory. Where there can be none, as under ulimit -f,
// openPagemap has found that out and memories are copied.
func newImage(content []byte) (*image, error) {
	i, err := newFileImage(content)
	if err != nil && pages() == nil {
		return &image{append([]byte(nil), content...), -1}, nil
	}
	return i, err
}

func newFileImage(content []byte) (*image, error) {
	file, err := unix.MemfdCreate("merit-snapshot", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	i := &image{file: file}
	if len(content) == 0 {
		return i, nil
	}
	if err = unix.Ftruncate(file, int64(len(content))); err == nil {
		i.data, err = unix.Mmap(file, 0, len(content), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err != nil {
		i.close()
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	copySparse(i.data, content)
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

// copySparse copies the pages that are not zero, so that a snapshot of a
// large, mostly empty memory stays small.
func copySparse(dst, src []byte) {
	for at := 0; at < len(src); at += 4096 {
		if page := src[at:min(at+4096, len(src))]; !zero(page) {
			copy(dst[at:], page)
		}
	}
}

func zero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
