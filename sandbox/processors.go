package sandbox

import (
	"runtime"
	"sync"
)

// processors returns how many guests may run at one time, and gives the
// process one processor more than that, once. A guest gives its processor back
// only when it passes through Go and Go wants it, which is after 10 ms unless
// garbage is collected: with a guest on every processor, the watchdog, timers
// and everything else in the process would wait that long at every turn. The
// operating system shares the cores among the processors.
var processors = sync.OnceValue(func() int {
	n := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(n + 1)
	return n
})
