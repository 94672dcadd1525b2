package servecmd

import "runtime"

// heapFloor is memory that is never written to, so that it takes none of the
// machine's, but that the garbage collector counts: it runs once a heap has grown to
// twice what it was, which on a server with little in memory one body of a few
// megabytes would do, and every collection delays the requests of all tenants.
const heapFloor = 64 << 20

// raiseHeap has the garbage collector reckon with heapFloor until lower is called.
func raiseHeap() (lower func()) {
	floor := make([]byte, heapFloor)
	return func() { runtime.KeepAlive(floor) }
}
