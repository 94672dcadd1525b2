//go:build !linux

package engine

func (*Engine) newLinear(limit uint64) linear { return newCopied(limit) }

// image is the content of a memory, which any number of memories may begin
// with.
type image struct{ data []byte }

// newImage returns an image of zeros.
func newImage(size int) (*image, error) { return &image{make([]byte, size)}, nil }

func (i *image) size() int { return len(i.data) }

func (i *image) close() {}
