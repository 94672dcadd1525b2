package cache

import (
	"debug/elf"
	"os"
	"sync"
)

// build identifies the code of this program: the Go linker's build ID, which
// changes with every change. It is empty if there is none.
var build = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	f, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	note := f.Section(".note.go.buildid")
	if note == nil {
		return ""
	}
	id, err := note.Data()
	if err != nil {
		return ""
	}
	return string(id)
})
