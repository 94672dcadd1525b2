package cpus

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Current returns the number of the CPU on which the caller runs, which may change at any
// time, or 0 if the system does not tell.
func Current() int {
	var cpu uint32
	if _, _, errno := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0); errno != 0 {
		return 0
	}
	return int(cpu)
}
