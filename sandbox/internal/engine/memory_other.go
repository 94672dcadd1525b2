//go:build !linux

package engine

func newLinear(limit uint64) linear { return newCopied(limit) }

// image is the content of a memory, which any number of memories may begin
// with.
type image struct{ data []byte }

func newImage(content []byte) (*image, error) { return &image{append([]byte(nil), content...)}, nil }

func (i *image) size() int { return len(i.data) }

func (i *image) close() {}
