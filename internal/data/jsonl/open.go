package jsonl

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/absent"
	"github.com/merit-rl/merit/internal/data/columns"
	"github.com/merit-rl/merit/internal/data/table"
)

// rows is a table that a Reader reads.
type rows interface {
	Next() (table.Row, error)
	Columns() []string
}

// unopened returns the error of a file that cannot be opened.
func unopened(path string, err error) error {
	f := &fault.Error{Boundary: fault.Data, Kind: fault.Missing, Where: path, What: "cannot read"}
	if _, f.Err = absent.Reason(err); errors.Is(err, fs.ErrNotExist) {
		f.What, f.Hint = "", absent.Hint(path)
	} else {
		f.Hint = "check the owner and mode of the file"
	}
	return f
}

// Open opens the file at path; "-" is stdin. The file is JSON Lines, Parquet, or a text
// table: CSV or TSV, detected by its name or its first line. Parquet from stdin is copied
// to a temporary file.
func Open(path string, stdin io.Reader) (*Reader, error) {
	if path == "-" {
		return openStream(stdin)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, unopened(path, err)
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		f.Close()
		return openFolder(path)
	}
	if err == nil && info.Mode().IsRegular() && isParquet(f) {
		return openColumns(path, f, info.Size())
	}
	if err == nil && info.Mode().IsRegular() {
		if r, err := openLog(path, f, info.Size()); r != nil || err != nil {
			return r, err
		}
	}
	read := &counted{Reader: f}
	r, err := open(path, read, filepath.Dir(path))
	if err != nil {
		f.Close()
		return nil, err
	}
	if info != nil && info.Mode().IsRegular() {
		r.input, r.size = read, info.Size()
	}
	r.closers = append(r.closers, f.Close)
	return r, nil
}

const parquetMagic = "PAR1"

func isParquet(f *os.File) bool {
	var head [len(parquetMagic)]byte
	_, err := f.ReadAt(head[:], 0)
	return err == nil && string(head[:]) == parquetMagic
}

func openColumns(path string, f *os.File, size int64) (*Reader, error) {
	table, err := columns.Open(path, f, size)
	if err != nil {
		f.Close()
		return nil, err
	}
	r := &Reader{name: path, table: table, total: table.Rows(), results: isResults(table.Columns())}
	r.folded = slices.ContainsFunc(table.Texts(), func(name string) bool { return structured[name] }) || slices.Contains(table.Columns(), nameMessages)
	r.closers = []func() error{func() error { table.Close(); return nil }, f.Close}
	return r.dumped(), nil
}

func openStream(stdin io.Reader) (*Reader, error) {
	head := bufio.NewReaderSize(stdin, 1<<16)
	if magic, err := head.Peek(len(parquetMagic)); err != nil || string(magic) != parquetMagic {
		return open("stdin", head, "")
	}
	f, err := os.CreateTemp("", "merit-*.parquet")
	if err != nil {
		return nil, CannotWrite(err)
	}
	_ = os.Remove(f.Name()) // it is freed with the file handle
	size, err := io.Copy(f, head)
	if err != nil {
		f.Close()
		failed := &fault.Error{
			Boundary: fault.Storage, Kind: fault.Exhausted, Where: "stdin", What: "cannot copy the Parquet file to " + filepath.Dir(f.Name()), Err: err,
			Hint: "pass the path of the file, or set TMPDIR to a folder with free space: Parquet must be read from its end",
		}
		return nil, failed
	}
	return openColumns("stdin", f, size)
}

// open distinguishes text tables and the formats of other tools from JSON Lines. Documents may
// refer to files in folder, if it is not empty.
func open(name string, in io.Reader, folder string) (*Reader, error) {
	r, err := NewReader(name, in)
	if err != nil {
		return nil, err
	}
	if err := r.sniff(folder); err != nil || r.table != nil {
		return r, err
	}
	r.breakAtReturns()
	delimiter := r.delimiter(name)
	if delimiter == 0 {
		return r, nil
	}
	if head, _ := r.buffer.Peek(len(byteOrderMark)); bytes.Equal(head, byteOrderMark) {
		_, _ = r.buffer.Discard(len(byteOrderMark))
	}
	text, err := table.NewCSV(name, r.buffer, delimiter)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	r.table, r.folded, r.spelled, r.total = text, true, true, -1
	return r.dumped(), nil
}

// breakAtReturns treats carriage returns as line breaks if nothing else separates the
// objects of a file.
func (r *Reader) breakAtReturns() {
	head, _ := r.buffer.Peek(1 << 16)
	first, _, found := bytes.Cut(bytes.TrimLeft(bytes.TrimPrefix(head, byteOrderMark), " \r"), []byte("\r"))
	if found && bytes.IndexByte(head, '\n') < 0 && isObject(first) {
		r.buffer = bufio.NewReaderSize(returns{r.buffer}, 1<<16)
	}
}

// returns converts carriage returns to line feeds.
type returns struct{ io.Reader }

func (r returns) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	for i, c := range p[:n] {
		if c == '\r' {
			p[i] = '\n'
		}
	}
	return n, err
}

// delimiter returns the delimiter of a text table, or 0 if the file is not one. It uses the
// extension of the name, otherwise the first line.
func (r *Reader) delimiter(name string) rune {
	head, _ := r.buffer.Peek(1 << 16)
	first := bytes.TrimLeft(bytes.TrimPrefix(head, byteOrderMark), " \r\n")
	first, _, _ = bytes.Cut(first, []byte("\n"))
	name = strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst"))
	named := strings.HasSuffix(name, ".csv") || strings.HasSuffix(name, ".tsv")
	found := table.Delimiter(first)
	switch {
	case len(first) == 0, strings.IndexByte("{[<", first[0]) >= 0 || first[0] == 0:
		return 0
	case strings.HasSuffix(name, ".tsv"):
		return '\t'
	case !utf8.Valid(first) && len(first) < 1<<16-4, foreignHead(first):
		return 0
	case named && found == 0:
		return ','
	case named:
		return found
	case bytes.ContainsAny(first, "{}[]"), looksElse(name):
		return 0 // such as a line of JSON without its beginning
	}
	return found
}

// looksElse reports whether a name indicates JSON or YAML.
func looksElse(name string) bool {
	return strings.HasSuffix(name, ".jsonl") || strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".ndjson") ||
		strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// foreignHead reports whether a first line identifies another format.
func foreignHead(first []byte) bool {
	format, _ := magic(first)
	return format != ""
}

// counted counts the bytes that are read.
type counted struct {
	io.Reader
	n atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(int64(n))
	return n, err
}
