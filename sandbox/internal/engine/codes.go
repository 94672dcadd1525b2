package engine

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"

	"github.com/tetratelabs/wazero"

	"github.com/merit-rl/merit/sandbox/internal/engine/cache"
)

// codes keeps the native code of one program in a folder, in place of wazero's own file
// cache. That one reads the offset of each function by a call of the system, 13,000 for
// CPython, and copies the code, which has 60 MB. Here the file is mapped: processes share
// its pages, and only what runs is read from the disk.
//
// wazero has no way to be given a cache, but the field behind its CompilationCache is an
// interface. The tests of this package check that for the pinned version.
type codes struct {
	dir   string
	used  bool // wazero has found its code here
	added bool // wazero has compiled, and stored the code here
}

var errCodes = errors.New("wazero's compilation cache has changed its form")

// cache returns wazero's view of the folder.
func (c *codes) cache() (wazero.CompilationCache, error) {
	made := wazero.NewCompilationCache()
	v := reflect.ValueOf(made)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return nil, errCodes
	}
	field := v.Elem().FieldByName("fileCache")
	if !field.IsValid() || field.Kind() != reflect.Interface || !reflect.TypeOf(c).Implements(field.Type()) {
		return nil, errCodes
	}
	reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Elem().Set(reflect.ValueOf(c))
	return made, nil
}

const codePrefix = "code-" + runtime.GOARCH + "-"

// path returns the file for a key, which covers the module and the features of the CPU.
func (c *codes) path(key [32]byte) string {
	return filepath.Join(c.dir, codePrefix+hex.EncodeToString(key[:]))
}

// codeFile returns the only file of native code in a folder.
func codeFile(dir string) (string, error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	found := ""
	for _, d := range list {
		if len(d.Name()) > len(codePrefix) && d.Name()[:len(codePrefix)] == codePrefix {
			if found != "" {
				return "", errOtherCode
			}
			found = filepath.Join(dir, d.Name())
		}
	}
	if found == "" {
		return "", errOtherCode
	}
	return found, nil
}

// The file is what wazero wrote, with zeros before the code itself, so that it can be
// mapped on systems with any size of pages.
const codeAlign = 64 << 10

// Before the code wazero writes: magic, the length of its version, the version, the number of
// functions, their offsets, and the size of the code.
const (
	codeMagic  = 6
	codeOffset = 8
)

// codeSpan returns where the code begins in what wazero wrote, and its size.
func codeSpan(data []byte) (start, size int, ok bool) {
	if len(data) <= codeMagic {
		return 0, 0, false
	}
	count := codeMagic + 1 + int(data[codeMagic])
	if len(data) < count+4 {
		return 0, 0, false
	}
	sized := uint64(count) + 4 + codeOffset*uint64(binary.LittleEndian.Uint32(data[count:]))
	if uint64(len(data)) < sized+8 {
		return 0, 0, false
	}
	code := binary.LittleEndian.Uint64(data[sized:])
	return int(sized) + 8, int(code), code <= uint64(len(data))
}

func aligned(n int) int { return (n + codeAlign - 1) / codeAlign * codeAlign }

// Add implements wazero's file cache.
func (c *codes) Add(key [32]byte, content io.Reader) error {
	c.added = true
	data, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	start, _, ok := codeSpan(data)
	if !ok {
		return errCodes
	}
	f, err := os.OpenFile(c.path(key), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data[:start])
	_, err2 := f.WriteAt(data[start:], int64(aligned(start)))
	return errors.Join(err, err2, f.Close())
}

// Get implements wazero's file cache.
func (c *codes) Get(key [32]byte) (io.ReadCloser, bool, error) {
	path := c.path(key)
	data, release, err := cache.View(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	start, size, ok := codeSpan(data)
	if !ok || len(data) < aligned(start)+size {
		release()
		return nil, false, nil
	}
	c.used = true
	return &codeReader{path: path, data: data, start: start, size: size, release: release}, true, nil
}

// Delete implements wazero's file cache.
func (c *codes) Delete(key [32]byte) error { return os.Remove(c.path(key)) }

// codeReader reads what wazero wrote.
type codeReader struct {
	path        string
	data        []byte
	start, size int // of the code, in what wazero wrote
	at          int
	release     func()
}

// Read implements io.Reader. Where wazero reads all of the code into a memory of its size,
// the file is mapped there.
func (r *codeReader) Read(p []byte) (n int, err error) {
	switch code := aligned(r.start); {
	case r.at < r.start:
		n = copy(p, r.data[r.at:r.start])
	case r.at == r.start && len(p) == r.size && mapCode(p, r.path, int64(code)):
		n = r.size
	default:
		n = copy(p, r.data[code+r.at-r.start:])
	}
	r.at += n
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// Close implements io.Closer.
func (r *codeReader) Close() error {
	r.release()
	return nil
}
