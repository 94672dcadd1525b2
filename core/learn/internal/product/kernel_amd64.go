package product

import "golang.org/x/sys/cpu"

// fast is true if this CPU can run the routines of kernel_amd64.s.
var fast = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// tile6 computes 6 rows of 16 columns: c = from + Σ a·b over k steps, one fused
// multiplication and addition after the other. Without from it begins at zero.
// If rectify is set, what is below zero becomes −0.
//
// Distances are in bytes: aRow and aStep from a row and a step of a to the
// next, bStep from 16 numbers of b to the next, cRow and fromRow from a row of
// c and from to the next.
//
//go:noescape
func tile6(k int, a *float32, aRow, aStep uintptr, b *float32, bStep uintptr, c *float32, cRow uintptr, from *float32, fromRow uintptr, rectify bool)

// tile1 is tile6 of one row.
//
//go:noescape
func tile1(k int, a *float32, aRow, aStep uintptr, b *float32, bStep uintptr, c *float32, cRow uintptr, from *float32, fromRow uintptr, rectify bool)

// gate8 clears by where y has its sign bit set. n is a multiple of 8, not 0.
//
//go:noescape
func gate8(n int, by, y *float32)

// add8 adds y to x. n is a multiple of 8, not 0.
//
//go:noescape
func add8(n int, x, y *float32)

// adam8 is Adam over n parameters. n is a multiple of 8, not 0.
//
//go:noescape
func adam8(n int, params, gradient, first, second *float32, f *factors)
