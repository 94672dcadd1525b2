// Package table reads tables as rows that are JSON objects: CSV and TSV here,
// Parquet in package columns. A row that cannot be used is named by its number
// and does not end the table; what cannot be read at all does. Memory is bounded
// whatever a file says about itself.
package table

import (
	"fmt"

	"github.com/merit-rl/merit/core/fault"
)

// MaxRow is the longest row in bytes, as JSON.
const MaxRow = 64 << 20

// Row is one row. Text is valid until the next one is read.
type Row struct {
	Number int    // 1-based, without a header
	Text   []byte // a JSON object; nil with Err
	Err    error  // a *fault.Error: why the row cannot be used
	// Lost is how many rows Err stands for: more than one where a damaged part of
	// a file was passed over.
	Lost int
}

// Bad is a row that cannot be used.
func Bad(number int, kind fault.Kind, hint, format string, args ...any) Row {
	return Row{Number: number, Lost: 1, Err: &fault.Error{Boundary: fault.Data, Kind: kind, What: fmt.Sprintf(format, args...), Hint: hint}}
}

// Unfit is the error of a table that cannot be read, or not any further.
func Unfit(name string, kind fault.Kind, hint, format string, args ...any) error {
	return &fault.Error{Boundary: fault.Data, Kind: kind, Where: name, What: fmt.Sprintf(format, args...), Hint: hint}
}
