//go:build !linux

package memory

// New returns a memory of at most limit bytes.
func (*Space) New(limit uint64) Linear { return newCopied(limit) }

// Image is the content with which any number of memories may begin.
type Image struct {
	Data []byte
	Runs []Run // the pages that Write has written
}

// NewImage returns an image of zeros.
func NewImage(size int) (*Image, error) { return &Image{Data: make([]byte, size)}, nil }

// Write writes whole pages from a page on, in an image that no memory has begun with.
func (i *Image) Write(first int, content []byte) {
	i.Runs = append(i.Runs, Run{first, len(content) / ImagePage})
	copy(i.Data[first*ImagePage:], content)
}

// Size returns the size in bytes.
func (i *Image) Size() int { return len(i.Data) }

// Close does nothing.
func (i *Image) Close() {}
