package servecmd

import "runtime"

// heapFloor is the size of memory that is never written to. It uses no physical memory, but the
// garbage collector counts it. The collector runs when the heap has doubled. On a server with a
// small heap, one body of a few megabytes would trigger it, and every collection delays the
// requests of all tenants.
const heapFloor = 64 << 20

// raiseHeap makes the garbage collector count heapFloor until lower is called.
func raiseHeap() (lower func()) {
	floor := make([]byte, heapFloor)
	return func() { runtime.KeepAlive(floor) }
}
