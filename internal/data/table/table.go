// Package table reads tables as rows that are JSON objects: CSV and TSV here, Parquet in
// package columns. An unusable row is reported by its number and does not end the table;
// data that cannot be read further does. Memory is limited, whatever a file declares.
package table

import (
	"fmt"

	"github.com/merit-rl/merit/core/fault"
)

// MaxRow is the maximum length of a row in bytes, as JSON.
const MaxRow = 64 << 20

// Row is one row. Text is valid until the next row is read.
type Row struct {
	Number int    // 1-based, without a header
	Text   []byte // a JSON object; nil if Err is set
	Err    error  // a *fault.Error: why the row cannot be used
	// Lost is the number of rows that Err represents: more than one if a damaged part
	// of a file was skipped.
	Lost int
}

// Bad returns a row that cannot be used.
func Bad(number int, kind fault.Kind, hint, format string, args ...any) Row {
	return Row{Number: number, Lost: 1, Err: &fault.Error{Boundary: fault.Data, Kind: kind, What: fmt.Sprintf(format, args...), Hint: hint}}
}

// Unfit returns the error of a table that cannot be read, or not further.
func Unfit(name string, kind fault.Kind, hint, format string, args ...any) error {
	return &fault.Error{Boundary: fault.Data, Kind: kind, Where: name, What: fmt.Sprintf(format, args...), Hint: hint}
}
