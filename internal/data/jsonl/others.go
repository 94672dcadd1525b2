package jsonl

import (
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/data/interchange"
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
