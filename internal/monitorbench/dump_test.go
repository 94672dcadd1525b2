package monitorbench

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/run"
)

func TestDump(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("SEEDS"))
	p := Plan{Families: Families(), Seeds: n, Cores: 2, Dir: os.Getenv("REC")}
	runs, err := p.Play(t.Context(), func(int, int) {})
	require.NoError(t, err)
	w, _ := os.Create("/tmp/dump.txt")
	for _, r := range runs {
		fmt.Fprintf(w, "%s|%v|%v|%d|%d|%v|", r.Family.Name, r.Family.Hackable, r.Family.HeldOut, r.Seed, r.Fall, r.Alarms)
		for i, f := range Flags() {
			fmt.Fprintf(w, ";%s", f.Name)
			for _, x := range r.Evidence[i] {
				fmt.Fprintf(w, " %.4g", x)
			}
		}
		rec, _ := Read(p.Dir, r.Family.Name, r.Seed)
		for _, s := range []struct {
			name string
			of   func(o *run.Iteration) float64
		}{
			{"x_score", func(o *run.Iteration) float64 { return o.Outputs.Score }},
			{"x_swapped", func(o *run.Iteration) float64 { return o.Outputs.Swapped }},
			{"x_std", func(o *run.Iteration) float64 { return o.Outputs.ScoreStd }},
			{"x_rev", func(o *run.Iteration) float64 { return o.Outputs.Revisits }},
			{"x_succ", func(o *run.Iteration) float64 { return o.Rollout.Success }},
			{"x_len", func(o *run.Iteration) float64 { return o.Rollout.Length }},
			{"x_words", func(o *run.Iteration) float64 { return o.Outputs.Words }},
			{"x_dist", func(o *run.Iteration) float64 { return o.Outputs.Distinct }},
		} {
			fmt.Fprintf(w, ";%s", s.name)
			for i := range rec.Lines[1:] {
				fmt.Fprintf(w, " %.4g", s.of(&rec.Lines[i+1]))
			}
		}
		fmt.Fprintln(w)
	}
	w.Close()
}
