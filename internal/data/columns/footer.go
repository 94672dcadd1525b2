package columns

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/format"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/data/table"
)

// maxFooter is the maximum size of the footer in bytes.
const maxFooter = 64 << 20

const (
	magic      = "PAR1"
	encrypted  = "PARE"
	again      = "copy or write the file again"
	tailLength = 8 // the footer's length and the magic
)

// footer reads and checks a file's footer.
func footer(name string, r io.ReaderAt, size int64) (*format.FileMetaData, error) {
	corrupt := func(what string, args ...any) error {
		return table.Unfit(name, fault.Corrupt, again, what, args...)
	}
	var head [len(magic)]byte
	var tail [tailLength]byte
	if size < int64(len(head)+tailLength) {
		return nil, corrupt("not a Parquet file: it has only %d bytes", size)
	}
	if _, err := r.ReadAt(head[:], 0); err != nil {
		return nil, corrupt("cannot read its beginning: %v", err)
	}
	if _, err := r.ReadAt(tail[:], size-tailLength); err != nil {
		return nil, corrupt("cannot read its end: %v", err)
	}
	switch end := string(tail[4:]); {
	case string(head[:]) == encrypted || end == encrypted:
		return nil, table.Unfit(name, fault.Refused, "write it without encryption", "the Parquet file is encrypted")
	case string(head[:]) != magic:
		return nil, corrupt("not a Parquet file: it begins with %q", head[:])
	case end != magic:
		return nil, corrupt("the Parquet file is truncated: it ends with %q, not with %s", end, magic)
	}
	length := int64(binary.LittleEndian.Uint32(tail[:]))
	if length > size-int64(len(head))-tailLength {
		return nil, corrupt("the Parquet file is truncated: its footer of %d bytes is incomplete", length)
	}
	if length > maxFooter {
		return nil, table.Unfit(name, fault.Exhausted, "write fewer columns or larger row groups", "the footer has %d MiB; the maximum is %d", length>>20, maxFooter>>20)
	}
	text := make([]byte, length)
	if _, err := r.ReadAt(text, size-tailLength-length); err != nil {
		return nil, corrupt("cannot read its footer: %v", err)
	}
	meta := new(format.FileMetaData)
	if err := guard(func() error { _, err := decode(text, meta); return err }); err != nil {
		return nil, corrupt("cannot read its footer: %v", err)
	}
	return meta, check(meta, size-tailLength-length, corrupt)
}

// check checks the footer for consistency, and against the size of the data before it.
func check(meta *format.FileMetaData, size int64, corrupt func(string, ...any) error) error {
	rows, packed := int64(0), int64(0)
	for i := range meta.RowGroups {
		g := &meta.RowGroups[i]
		if g.NumRows < 0 || g.NumRows > 1<<48 {
			return corrupt("row group %d declares %d rows", i+1, g.NumRows)
		}
		if rows += g.NumRows; g.NumRows == 0 {
			continue // no pages, so their position does not matter
		}
		for j := range g.Columns {
			m := &g.Columns[j].MetaData
			from := start(m)
			if g.Columns[j].FilePath != "" {
				return corrupt("row group %d, column %d is in another file", i+1, j+1)
			}
			if from < int64(len(magic)) || m.TotalCompressedSize < 0 || from > size || m.TotalCompressedSize > size-from {
				return corrupt("row group %d, column %d is outside of the file: %d bytes from byte %d", i+1, j+1, m.TotalCompressedSize, from)
			}
			if packed += m.TotalCompressedSize; packed > size {
				return corrupt("its columns have more bytes than the file, so some overlap")
			}
		}
	}
	if rows != meta.NumRows {
		return corrupt("the footer declares %d rows, but its row groups have %d", meta.NumRows, rows)
	}
	return nil
}

// start returns the position of the first page of a column.
func start(m *format.ColumnMetaData) int64 {
	if m.DictionaryPageOffset > 0 && m.DictionaryPageOffset < m.DataPageOffset {
		return m.DictionaryPageOffset
	}
	return m.DataPageOffset
}

// guard converts a panic of f to an error: decoders may index out of range on
// invalid input.
func guard(f func() error) (err error) {
	defer func() {
		switch x := recover().(type) {
		case nil:
		case broken:
			err = x.error
		default:
			err = fmt.Errorf("decoding failed: %v", x)
		}
	}()
	return f()
}

// broken is the panic value for a row group that cannot be read further. It passes through
// the functions that write a row, and guard catches it.
type broken struct{ error }

func throw(format string, args ...any) { panic(broken{fmt.Errorf(format, args...)}) }
