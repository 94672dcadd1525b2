package memory

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Promise: pages that only the first evaluations read are given back, since
// listing the dirty pages takes longer with each of them; the content stays.
func TestReadPagesAreGivenBack(t *testing.T) {
	if pages() == nil {
		return // memories are copied here
	}
	m, err := newMapped(4 << 20)
	require.NoError(t, err)
	t.Cleanup(m.Free)
	for i := range m.Reallocate(4 << 20) {
		m.buf[i] = byte(i >> 12)
	}
	image, err := TakeImage(m.Bytes())
	require.NoError(t, err)
	t.Cleanup(image.Close)
	require.NoError(t, m.Adopt(image))
	for page := range 1024 {
		require.Equal(t, byte(page), m.buf[page<<12])
	}
	require.Greater(t, present(t, m), 1000)
	for range firstRounds {
		m.buf[0]++
		_, err := m.Restore()
		require.NoError(t, err)
	}
	require.Less(t, present(t, m), 64)
	require.Equal(t, image.Data, m.Bytes())
}

func present(t *testing.T, m *mapped) (n int) {
	base := uintptr(unsafe.Pointer(&m.buf[0]))
	arg := scan{
		start: uint64(base), end: uint64(base) + m.size, vec: uint64(uintptr(unsafe.Pointer(&m.regions[0]))), vecLen: uint64(len(m.regions)),
		categoryMask: pageIsPresent, returnMask: pageIsPresent,
	}
	arg.size = uint64(unsafe.Sizeof(arg))
	found, _, errno := unix.Syscall(unix.SYS_IOCTL, pages().fd, pagemapScan, uintptr(unsafe.Pointer(&arg)))
	require.Zero(t, errno)
	for _, r := range m.regions[:found] {
		n += int(r.end-r.start) / 4096
	}
	return n
}
