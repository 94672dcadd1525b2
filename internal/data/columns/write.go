package columns

import (
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/data/table"
)

// NoteKey is the metadata key for the description of a file's rows.
const NoteKey = "merit"

// Limits of a row group: bytes of JSON, and rows.
const (
	groupBytes = 32 << 20
	groupRows  = 100_000
)

// Writer writes rows as Parquet. Equal rows give equal bytes.
type Writer struct {
	table  Table
	top    []*branch
	rest   *branch
	index  map[string]int
	shred  shredder
	out    *parquet.GenericWriter[any]
	beside []byte // the object of Rest
	values [][]byte
	bytes  int // of the row group
	rows   int
}

// NewWriter returns a Writer to out.
func NewWriter(out io.Writer, t Table) *Writer {
	w := &Writer{table: t, index: map[string]int{}}
	next := 0
	for i, f := range t.Columns {
		b := plant(f.Name, f.Shape, next)
		w.top, next, w.index[f.Name] = append(w.top, b), b.to, i
	}
	all := w.top
	if t.Rest {
		w.rest = plant(Rest, Shape{Kind: JSON}, next)
		all, next = append(all[:len(all):len(all)], w.rest), next+1
	}
	w.shred.columns = make([][]parquet.Value, next)
	w.values = make([][]byte, len(w.top))
	w.out = parquet.NewGenericWriter[any](out, parquet.NewSchema("merit", group(all)),
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedDefault}), parquet.CreatedBy("merit", "1", "0"), parquet.KeyValueMetadata(NoteKey, t.Note))
	return w
}

// Write writes a row: the text of a valid JSON object.
func (w *Writer) Write(row []byte) (err error) {
	defer func() {
		if x, ok := recover().(errKind); ok {
			err = &fault.Error{Boundary: fault.Data, Kind: fault.Internal, What: "a row does not fit the Parquet file", Err: x.error, Hint: "write JSON Lines"}
		}
	}()
	row = validUTF8(row)
	clear(w.values)
	w.beside = append(w.beside[:0], '{')
	eachMember(row, func(name string, value []byte) {
		if i, ok := w.index[name]; ok && string(value) != "null" && w.values[i] == nil {
			w.values[i] = value
			return
		} else if ok && !w.table.Rest {
			return
		}
		w.add(name, value)
	})
	for i, b := range w.top {
		w.shred.put(b, w.values[i], 0, 0, 0)
	}
	if w.rest != nil {
		var value []byte
		if w.beside = append(w.beside, '}'); len(w.beside) > 2 {
			value = w.beside
		}
		w.shred.put(w.rest, value, 0, 0, 0)
	}
	if _, err := w.out.WriteRows([]parquet.Row{w.shred.take()}); err != nil {
		return err
	}
	w.bytes, w.rows = w.bytes+len(row), w.rows+1
	if w.bytes < groupBytes && w.rows < groupRows {
		return nil
	}
	w.bytes, w.rows = 0, 0
	return w.out.Flush()
}

// add adds a member to the Rest column.
func (w *Writer) add(name string, value []byte) {
	if !w.table.Rest {
		panic(errKind{fmt.Errorf("there is no column for %q", name)})
	}
	if len(w.beside) > 1 {
		w.beside = append(w.beside, ',')
	}
	w.beside = append(append(w.beside, table.Key(name)...), value...)
}

// Close writes the footer.
func (w *Writer) Close() error { return w.out.Close() }
