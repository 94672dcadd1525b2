package rowio

import (
	"errors"
	"io"
	"math"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/data/jsonl"
)

// Estimate reads rows from in, which messages call name, assigns credit with cfg and writes
// the rows with their results to out. It writes nothing before all rows have their
// credit. The error is a *fault.Error for the data, or the error of
// out.
func Estimate(cfg advantage.Config, name string, in io.Reader, out io.Writer) (advantage.Stats, error) {
	return EstimateWithin(cfg, name, in, out, math.MaxInt64)
}

// EstimateWithin is like Estimate, and limits the comparison of anchors to the given number
// of steps, as advantage.EstimateWithin does; beyond, the error wraps advantage.ErrWork.
func EstimateWithin(cfg advantage.Config, name string, in io.Reader, out io.Writer, most int64) (advantage.Stats, error) {
	table, err := Read(name, in)
	if err != nil {
		return advantage.Stats{}, err
	}
	return table.estimate(cfg, name, out, most)
}

// EstimateFile is like Estimate for an open file, in any format that jsonl reads.
func EstimateFile(cfg advantage.Config, file *jsonl.Reader, out io.Writer) (advantage.Stats, error) {
	table, err := ReadFile(file)
	if err != nil {
		return advantage.Stats{}, err
	}
	return table.estimate(cfg, file.Name(), out, math.MaxInt64)
}

func (table *Table) estimate(cfg advantage.Config, name string, out io.Writer, most int64) (advantage.Stats, error) {
	var result advantage.Result
	err := errors.Join(table.Keep(cfg), table.compares(cfg))
	if err == nil {
		err = advantage.EstimateWithin(cfg, &table.Rows, &result, most)
	}
	if err != nil {
		return advantage.Stats{}, &fault.Error{
			Boundary: fault.Data, Kind: fault.Invalid, Where: name, What: "cannot compute advantages", Err: table.Explain(err),
			Hint: "correct the rows, or choose another estimator",
		}
	}
	return result.Stats, table.Write(out, &result)
}
