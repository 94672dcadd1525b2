package jsonl

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/jsonspan"
	"github.com/merit-rl/merit/internal/data/interchange"
	"github.com/merit-rl/merit/internal/data/table"
)

// sniff makes r read the rows of a format of package interchange, if the file has one.
// Documents may refer to files in folder, if it is not empty.
func (r *Reader) sniff(folder string) error {
	rows, rest, err := interchange.Sniff(r.name, r.buffer, folder)
	switch {
	case err != nil:
		return err
	case rows == nil:
		r.buffer = rest
	default:
		r.table, r.total, r.notes = rows, -1, rows.Notes
	}
	return nil
}

// openLog opens an .eval file of Inspect; nil if f is something else.
func openLog(path string, f *os.File, size int64) (*Reader, error) {
	var head [4]byte
	if _, err := f.ReadAt(head[:], 0); err != nil || string(head[:]) != "PK\x03\x04" {
		return nil, nil
	}
	rows, err := interchange.Log(path, f, size)
	if rows == nil || err != nil {
		return nil, err
	}
	return &Reader{name: path, table: rows, total: -1, notes: rows.Notes, closers: []func() error{f.Close}}, nil
}

// dumped makes r read the rows of a table as those of a trainer's dump, if it has its columns.
func (r *Reader) dumped() *Reader {
	notes := new(interchange.Notes)
	if read := interchange.Dump(r.table.Columns(), notes); read != nil {
		r.table, r.notes, r.folded, r.spelled = &dump{r.table, read, r.spelled}, notes, false, false
	}
	return r
}

// dump is a table whose rows are read by another package.
type dump struct {
	rows
	read    func(table.Row) ([]byte, error)
	spelled bool // all cells are text
}

// Columns returns the columns that every row has.
func (d *dump) Columns() []string { return append([]string{nameMessages}, d.rows.Columns()...) }

// Next returns the next row.
func (d *dump) Next() (table.Row, error) {
	row, err := d.rows.Next()
	if err != nil || row.Err != nil {
		return row, err
	}
	if d.spelled {
		row.Text, row.Err = respelled(row.Text)
	}
	if row.Err == nil {
		row.Text, row.Err = d.read(row)
	}
	return row, nil
}

// respelled returns a row of a text table with the values that its cells spell: numbers, nothing,
// and in the prompt and the completion lists of messages.
func respelled(line []byte) ([]byte, error) {
	out := jsonspan.NewObject(len(line))
	for _, m := range jsonspan.Members(nil, line) {
		name, value := string(jsonspan.Text(line[m.KeyStart:m.KeyEnd])), line[m.ValueStart:m.End]
		text := unquoted(value)
		_, notNumber := strconv.ParseFloat(string(text), 64)
		switch said := name == namePrompt || name == nameCompletion; {
		case said && bytes.HasPrefix(text, []byte("[{'")):
			return nil, invalid("write it with json.dumps, or as Parquet; lists printed by Python's str() or pandas are not JSON", "column %q is text that is not JSON", name)
		case said:
			value = listed(value)
		case len(text) == 0:
			value = []byte("null")
		case notNumber == nil && json.Valid(text):
			value = text
		}
		out.Add(name, value)
	}
	return out.End(), nil
}

// openFolder opens a folder of ATIF documents, such as the trials of Harbor.
func openFolder(path string) (*Reader, error) {
	rows, err := interchange.Folder(path)
	if err != nil {
		return nil, err
	}
	if rows == nil {
		return nil, &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, Where: path, What: "is a folder", Hint: "pass the path of a file, or of a folder that contains files called trajectory.json, as Harbor's trials do"}
	}
	return &Reader{name: path, table: rows, total: -1, notes: rows.Notes}, nil
}

// Notes returns what the file says and trajectories cannot hold, one line for each kind, as
// far as it has been read.
func (r *Reader) Notes() []string { return r.notes.Lines() }

// Foreign reports whether the file has the format of another tool.
func (r *Reader) Foreign() bool { return r.notes != nil }

// runManifest is run.ManifestFile, a file of every run; core/run is a floor above.
const runManifest = "manifest.json"

// IsForeign reports whether a file or a folder has the format of another tool. The folder of a run
// of Merit has not.
func IsForeign(path string) bool {
	if _, err := os.Stat(filepath.Join(path, runManifest)); err == nil {
		return false
	}
	in, err := Open(path, nil)
	if err != nil {
		return false
	}
	defer in.Close()
	return in.Foreign()
}

// steps returns the rows of estimators for the trajectory in a line.
func (r *Reader) steps(l Line) ([]byte, error) {
	t, err := r.Trajectory(l)
	if err != nil {
		return nil, err
	}
	rows, err := interchange.StepRows(t)
	return bytes.Join(rows, []byte{'\n'}), err
}
