//go:build !amd64

package product

// fast is false: there are no kernels for this CPU.
var fast = false

func tile6(int, *float32, uintptr, uintptr, *float32, uintptr, *float32, uintptr, *float32, uintptr, bool) {
	panic("product: no kernel for this CPU")
}

func tile1(int, *float32, uintptr, uintptr, *float32, uintptr, *float32, uintptr, *float32, uintptr, bool) {
	panic("product: no kernel for this CPU")
}

func gate8(int, *float32, *float32) { panic("product: no kernel for this CPU") }

func add8(int, *float32, *float32) { panic("product: no kernel for this CPU") }

func adam8(int, *float32, *float32, *float32, *float32, *factors) {
	panic("product: no kernel for this CPU")
}
