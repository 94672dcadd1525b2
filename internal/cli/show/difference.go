package show

import (
	"fmt"

	"github.com/merit-rl/merit/core/evidence"
	"github.com/merit-rl/merit/internal/base/attempts"
	"github.com/merit-rl/merit/internal/cli/terminal"
)

// Cells are a difference as the cells of a table.
type Cells struct{ Before, After, Difference, Interval, Effect, P string }

// Difference formats a difference in one metric: success, win rates and pass@k in percent and percentage
// points, other metrics as plain numbers.
func Difference(d evidence.Difference) Cells {
	value, change := func(x float64) string { return fmt.Sprintf("%.4g", x) }, func(x float64) string { return fmt.Sprintf("%+.3g", x) }
	if d.Name == evidence.Success || d.Name == evidence.WinRate || attempts.K([]string{d.Name}) != nil {
		value, change = terminal.Percent, func(x float64) string { return fmt.Sprintf("%+.1f", 100*x) }
	}
	c := Cells{
		Before: value(d.Before), After: value(d.After), Difference: change(d.Difference),
		Interval: fmt.Sprintf("[%s, %s]", change(d.Interval[0]), change(d.Interval[1])), P: fmt.Sprintf("%.2g", d.PValue),
	}
	if d.Effect != nil {
		c.Effect = fmt.Sprintf("%+.2f", *d.Effect)
	}
	return c
}
