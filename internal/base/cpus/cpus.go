// Package cpus says how many of the process's processors there are for
// work, and keeps one beside them where a program asks for it.
package cpus

import (
	"runtime"
	"sync"
)

var state struct {
	sync.Mutex
	spare int
}

// Count returns how many goroutines that compute should run at one time:
// GOMAXPROCS without the spare one.
func Count() int {
	state.Lock()
	defer state.Unlock()
	return max(runtime.GOMAXPROCS(0)-state.spare, 1)
}

// Spare raises GOMAXPROCS by one until restore is called; the operating system
// shares the cores among the processors. It is for the main function of a
// program that runs sandboxed rewards. A guest gives its processor back only
// when it passes through Go and Go wants it, which is after 10 ms unless
// garbage is collected: with a guest that computes for long on every processor,
// timers and everything else in the process wait some 20 ms at every turn, and
// well below a millisecond with a processor to spare.
func Spare() (restore func()) {
	change := func(by int) {
		state.Lock()
		defer state.Unlock()
		state.spare += by
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + by)
	}
	change(1)
	return sync.OnceFunc(func() { change(-1) })
}
