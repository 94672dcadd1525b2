package memory

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Image is the content with which any number of memories may begin: an
// in-memory file that they map, and a view of it to copy from.
type Image struct {
	Data []byte
	Runs []Run // the pages that Write has written
	file int   // −1 if the image is on the heap, for memories that are copied as a whole
}

// NewImage returns an image of zeros in an in-memory file. If such files are
// not possible, as under ulimit -f, openPagemap has detected that and memories
// are copied.
func NewImage(size int) (*Image, error) {
	i, err := newFileImage(size)
	if err != nil && pages() == nil {
		return &Image{Data: make([]byte, size), file: -1}, nil
	}
	return i, err
}

func newFileImage(size int) (*Image, error) {
	file, err := unix.MemfdCreate("merit-snapshot", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	i := &Image{file: file}
	if size == 0 {
		return i, nil
	}
	if err = unix.Ftruncate(file, int64(size)); err == nil {
		i.Data, err = unix.Mmap(file, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err != nil {
		i.Close()
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	return i, nil
}

// Write writes whole pages from a page on, in an image that no memory has begun with. To
// write to the file is cheaper than to touch its pages one by one, but a worker process may
// not.
func (i *Image) Write(first int, content []byte) {
	i.Runs = append(i.Runs, Run{first, len(content) / ImagePage})
	for at := first * ImagePage; len(content) > 0; {
		n, err := 0, error(unix.EBADF)
		if i.file >= 0 {
			n, err = unix.Pwrite(i.file, content[:min(piece, len(content))], int64(at))
		}
		if err != nil || n == 0 {
			copyPieces(i.Data[at:], content)
			return
		}
		at, content = at+n, content[n:]
	}
}

// Size returns the size in bytes.
func (i *Image) Size() int { return len(i.Data) }

// Close frees the image; memories that began with it must be freed first.
func (i *Image) Close() {
	if i == nil || i.file < 0 {
		return
	}
	if i.Data != nil {
		_ = unix.Munmap(i.Data)
	}
	_ = unix.Close(i.file)
}
