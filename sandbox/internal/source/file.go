package source

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Each file of a reward is read once, here. The same slice of bytes is checked,
// hashed, compiled and reported, even if the file changes meanwhile.

var (
	errTooLarge   = errors.New("the file is too large")
	errNotRegular = errors.New("it is not a regular file")
	errChanged    = errors.New("it changed while it was read")
)

// readFile reads a file of at most most bytes. It stops if the file grows
// beyond that while it is read.
func readFile(f fs.File, most int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var data bytes.Buffer
	data.Grow(int(min(info.Size(), most)) + bytes.MinRead)
	_, err = data.ReadFrom(io.LimitReader(f, most+1))
	if err == nil && int64(data.Len()) > most {
		err = errTooLarge
	}
	return data.Bytes(), err
}

// readRegular reads a file below root. It follows no link, not even one that
// replaces the file after it was checked.
func readRegular(root *os.Root, name string, most int64) ([]byte, error) {
	// Without this flag, opening a pipe waits for a writer.
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	named, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	opened, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !named.Mode().IsRegular():
		return nil, errNotRegular
	case !os.SameFile(named, opened):
		return nil, errChanged
	}
	return readFile(f, most)
}
