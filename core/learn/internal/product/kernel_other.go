//go:build !amd64

package product

// fast is false: there are no routines for this processor.
var fast = false

func tile6(int, *float32, uintptr, uintptr, *float32, uintptr, *float32, uintptr, *float32, uintptr, bool) {
	panic("product: no routine for this processor")
}

func tile1(int, *float32, uintptr, uintptr, *float32, uintptr, *float32, uintptr, *float32, uintptr, bool) {
	panic("product: no routine for this processor")
}

func gate8(int, *float32, *float32) { panic("product: no routine for this processor") }

func add8(int, *float32, *float32) { panic("product: no routine for this processor") }

func adam8(int, *float32, *float32, *float32, *float32, *factors) {
	panic("product: no routine for this processor")
}
