package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/merit-rl/merit/core/fault"
)

// An archive may unpack to this many times its size once it is larger than
// plainly: more is a bomb. Text and tables come to 10 or 20.
const (
	mostRatio = 200
	plainly   = 8 << 20
)

func readZip(body io.Reader, limit int64) (map[string][]byte, error) {
	data, err := readAll(body, limit)
	if err != nil {
		return nil, err
	}
	// The directory is read as a whole: what is in it is counted before.
	if bytes.Count(data, []byte("PK\x01\x02")) > mostFiles {
		return nil, tooMany()
	}
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, unreadable(err)
	}
	f := newFolder(limit)
	for _, file := range archive.File {
		if strings.HasSuffix(file.Name, "/") && file.Mode().IsDir() {
			continue
		} else if !file.Mode().IsRegular() {
			f.refuse(file.Name, file.Mode())
			continue
		}
		if err := f.addZipped(file); err != nil {
			return nil, errors.Join(f.wrong.Err(), unreadable(err))
		}
		if used := f.limit - f.left; used > plainly && used/mostRatio > int64(len(data)) {
			return nil, bomb()
		}
	}
	return f.all()
}

func (f *folder) addZipped(file *zip.File) error {
	content, err := file.Open()
	if err != nil {
		return err
	}
	defer content.Close()
	return f.add(file.Name, content)
}

func readTar(body io.Reader, limit int64) (map[string][]byte, error) {
	return untar(&meter{in: body, left: limit, limit: limit, what: "the upload"}, newFolder(limit))
}

// Exact reads a tar that is packed with gzip, as Read does, but leaves out
// nothing and renames nothing: for archives of which every file counts.
func Exact(body io.Reader, limit int64) (map[string][]byte, error) {
	f := newFolder(limit)
	f.exact = true
	return gunzip(body, f)
}

func readTarGzip(body io.Reader, limit int64) (map[string][]byte, error) {
	return gunzip(body, newFolder(limit))
}

func gunzip(body io.Reader, f *folder) (map[string][]byte, error) {
	limit := f.limit
	packed := &meter{in: body, left: limit, limit: limit, what: "the upload"}
	plain, err := gzip.NewReader(packed)
	if err != nil {
		return nil, unreadable(err)
	}
	// Headers and what is omitted come on top of what is kept.
	return untar(&meter{in: plain, left: 2*limit + plainly, limit: limit, what: "the unpacked content", packed: packed}, f)
}

// untar reads a tar to its end, so that a stream with a wrong checksum or a
// tail that is a bomb is found.
func untar(in *meter, f *folder) (map[string][]byte, error) {
	archive := tar.NewReader(in)
	for n := 0; ; n++ {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			return nil, errors.Join(f.wrong.Err(), unreadable(err))
		}
		if n > 2*mostFiles {
			return nil, errors.Join(f.wrong.Err(), tooMany())
		}
		name := strings.TrimPrefix(header.Name, "./")
		switch header.Typeflag {
		case tar.TypeDir, tar.TypeXGlobalHeader:
		case tar.TypeReg:
			if err := f.add(name, archive); err != nil {
				return nil, errors.Join(f.wrong.Err(), unreadable(err))
			}
		default:
			f.refuseTar(name, header)
		}
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		return nil, errors.Join(f.wrong.Err(), unreadable(err))
	}
	return f.all()
}

// refuseTar says what an entry is. A hard link has the mode of a file.
func (f *folder) refuseTar(name string, header *tar.Header) {
	if header.Typeflag == tar.TypeLink {
		f.problem(name, "is a link to "+Quote(header.Linkname), "pack the archive with tar --hard-dereference, which stores the contents of links")
		return
	}
	f.refuse(name, header.FileInfo().Mode())
}

// meter is a stream that ends in an error where it has more than it may.
type meter struct {
	in     io.Reader
	left   int64
	limit  int64 // as a user knows it
	what   string
	read   int64
	packed *meter // what it is unpacked from; nil if it is not
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.in.Read(p)
	m.read += int64(n)
	m.left -= int64(n)
	switch {
	case m.packed != nil && m.read > plainly && m.read/mostRatio > m.packed.read:
		return n, bomb()
	case m.left < 0:
		return n, tooLarge(m.what, m.limit)
	}
	return n, err
}

func bomb() error {
	return &fault.Error{
		Boundary: fault.Data, Kind: fault.Exhausted, Where: "upload", What: fmt.Sprintf("it unpacks to more than %d times its size", mostRatio),
		Hint: "leave out what the reward does not import",
	}
}

func tooMany() error {
	return &fault.Error{
		Boundary: fault.Data, Kind: fault.Exhausted, Where: "upload", What: fmt.Sprintf("it has more than %d files", mostFiles),
		Hint: "leave out what the reward does not import: tests, tools, other packages",
	}
}
