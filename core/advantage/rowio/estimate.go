package rowio

import (
	"io"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/fault"
)

// Estimate is the whole way of a file: it reads rows from in, which messages
// call name, assigns credit as cfg says and writes the rows to out with their
// results. Nothing is written before every row has its credit. The error is a
// *fault.Error of the data, or that of out.
func Estimate(cfg advantage.Config, name string, in io.Reader, out io.Writer) (advantage.Stats, error) {
	table, err := Read(name, in)
	if err != nil {
		return advantage.Stats{}, err
	}
	var result advantage.Result
	if err := advantage.Estimate(cfg, &table.Rows, &result); err != nil {
		return advantage.Stats{}, &fault.Error{
			Boundary: fault.Data, Kind: fault.Invalid, Where: name, What: "no advantages", Err: table.Explain(err),
			Hint: "correct the rows, or choose another estimator",
		}
	}
	return result.Stats, table.Write(out, &result)
}
