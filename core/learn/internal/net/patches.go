package net

// Patches turns an image into one row of inputs for each of its cells, so that
// a convolution is a matrix product with weights shared by the cells. Cells
// outside the image are zero.
type Patches struct {
	Cells int // rows × columns
	Size  int // kernel × kernel × channels
	// source[cell*Size+k] is the offset of the value in the image, or −1.
	source []int32
}

// newPatches lays out kernel×kernel patches of an image of channels × rows ×
// columns. The image is stored plane by plane (channel first) or cell by cell.
func newPatches(channels, rows, columns, kernel int, planes bool) *Patches {
	p := &Patches{Cells: rows * columns, Size: kernel * kernel * channels}
	p.source = make([]int32, 0, p.Cells*p.Size)
	for cell := range p.Cells {
		for k := range kernel * kernel {
			r := cell/columns + k/kernel - kernel/2
			c := cell%columns + k%kernel - kernel/2
			inside := r >= 0 && r < rows && c >= 0 && c < columns
			for ch := range channels {
				at := -1
				switch {
				case inside && planes:
					at = ch*p.Cells + r*columns + c
				case inside:
					at = (r*columns+c)*channels + ch
				}
				p.source = append(p.source, int32(at))
			}
		}
	}
	return p
}

// Gather writes the patches of each image in src into dst. An image has width
// values; dst has Cells·Size values per image.
func Gather[F float32 | float64](p *Patches, dst, src []F, width int) {
	for len(src) > 0 {
		image, out := src[:width], dst[:len(p.source)]
		src, dst = src[width:], dst[len(p.source):]
		for i, at := range p.source {
			if at < 0 {
				out[i] = 0
				continue
			}
			out[i] = image[at]
		}
	}
}

// Scatter is the transpose of Gather: it adds each value of src to the value
// of dst that it came from.
func Scatter[F float32 | float64](p *Patches, dst, src []F, width int) {
	for len(dst) > 0 {
		image, in := dst[:width], src[:len(p.source)]
		dst, src = dst[width:], src[len(p.source):]
		for i, at := range p.source {
			if at >= 0 {
				image[at] += in[i]
			}
		}
	}
}
