package run

import (
	"os"
)

// growing is a file that is appended to. After a failed append it has the
// length that it had before.
type growing struct {
	file *os.File
	size int64
}

func openGrowing(path string) (*growing, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, storageError(path, "cannot be opened", err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, storageError(path, "cannot be read", err)
	}
	return &growing{file: f, size: info.Size()}, nil
}

// append writes data at the end, or nothing.
func (g *growing) append(data []byte) error {
	if _, err := g.file.WriteAt(data, g.size); err != nil {
		_ = g.file.Truncate(g.size) // the write's error is the one to report
		return storageError(g.file.Name(), "cannot be extended", err)
	}
	g.size += int64(len(data))
	return nil
}

// cut drops everything after size.
func (g *growing) cut(size int64) error {
	if g.size < size {
		return corrupt(g.file.Name(), "is shorter than the last checkpoint says",
			"the file was changed after it was written; restore it, or start a new run", nil)
	}
	if err := g.file.Truncate(size); err != nil {
		return storageError(g.file.Name(), "cannot be cut to the last checkpoint", err)
	}
	g.size = size
	return nil
}

// sync makes what was appended survive a loss of power.
func (g *growing) sync() error {
	if err := g.file.Sync(); err != nil {
		return storageError(g.file.Name(), "cannot be flushed to the disk", err)
	}
	return nil
}
