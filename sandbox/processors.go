package sandbox

import (
	"runtime"
	"sync"
)

// processors returns how many guests may run at one time, and gives the
// process one processor more than that, once. A guest is native code that Go
// cannot preempt: with a guest on every processor, the watchdog, timers and
// everything else in the process would wait for the guests' fuel to end
// (measured with two endless loops on two cores: a timer late by 0.5 s in the
// median; with one processor more, by 0.4 ms, and 11 ms at the 99th
// percentile). The operating system shares the cores among the processors.
var processors = sync.OnceValue(func() int {
	n := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(n + 1)
	return n
})
