package engine

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapCode maps a part of a file over the anonymous pages at p. It reports false
// and leaves p unchanged if that is not possible, as on a disk from which nothing may run.
func mapCode(p []byte, path string, offset int64) bool {
	const few = 1 << 20 // a copy is cheaper
	at, size := unsafe.Pointer(unsafe.SliceData(p)), uintptr(len(p))
	if len(p) < few || uintptr(at)%uintptr(os.Getpagesize()) != 0 {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	made, err := unix.MmapPtr(int(f.Fd()), offset, nil, size, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_POPULATE)
	if err != nil {
		return false
	}
	if _, err := unix.MremapPtr(made, size, at, size, unix.MREMAP_MAYMOVE|unix.MREMAP_FIXED); err != nil {
		_ = unix.MunmapPtr(made, size)
		return false
	}
	return true
}
