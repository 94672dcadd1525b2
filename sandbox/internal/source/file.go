package source

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// The files of a reward are read once, here: what is checked, digested,
// compiled and reported is one slice of bytes, whatever becomes of the file
// meanwhile.

var (
	errTooLarge   = errors.New("the file is too large")
	errNotRegular = errors.New("it is not a regular file")
	errChanged    = errors.New("it changed while it was read")
)

// readFile reads a file, and no more of it than most bytes, which it may reach
// only while it is read.
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

// readRegular reads a file below root and follows no link to it, not even one
// that takes the place of the file after somebody looked.
func readRegular(root *os.Root, name string, most int64) ([]byte, error) {
	// Without this flag, to open a pipe waits for a writer.
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
