package cache

import (
	"fmt"
	"os"
	"syscall"
)

// mapped is the size from which a mapping is cheaper than a copy, in bytes.
const mapped = 256 << 10

// View returns the content of a file, which nobody may write to before release: files of
// the cache are never changed, only exchanged.
func View(path string) (data []byte, release func(), err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if info.Size() < mapped {
		data, err := os.ReadFile(path)
		return data, func() {}, err
	}
	data, err = syscall.Mmap(int(f.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_PRIVATE|syscall.MAP_POPULATE)
	if err != nil {
		return nil, nil, fmt.Errorf("%s cannot be mapped: %w", path, err)
	}
	return data, func() { _ = syscall.Munmap(data) }, nil
}
