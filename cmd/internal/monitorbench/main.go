// Package main measures how often the red flags of core/monitor are right: it trains many small runs
// whose rewards are hackable or sound, and compares the flags with a true metric that they do not see.
//
//	go run ./cmd/internal/monitorbench -page docs/operations.md -picture docs/red-flags.svg
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/google/renameio/v2"

	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/monitorbench"
)

type options struct {
	plan                monitorbench.Plan
	page, picture, json string
}

func main() {
	o := options{plan: monitorbench.Plan{Families: monitorbench.Families()}}
	flag.IntVar(&o.plan.Cores, "cores", runtime.NumCPU(), "train so many runs at a time")
	flag.IntVar(&o.plan.Seeds, "seeds", 50, "seeds of each family")
	flag.StringVar(&o.plan.Dir, "out", "", "folder of the recordings: those that it has are not trained again")
	flag.StringVar(&o.page, "page", "", "write the tables into this page")
	flag.StringVar(&o.picture, "picture", "", "write the curves into this file, as SVG")
	flag.StringVar(&o.json, "json", "", "write everything into this file, as JSON")
	family := flag.String("family", "", "train this family only, and print no tables")
	flag.Parse()
	if *family != "" {
		o.plan.Families = slices.DeleteFunc(o.plan.Families, func(f monitorbench.Family) bool { return f.Name != *family })
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := o.run(ctx, *family == ""); err != nil {
		fmt.Fprintln(os.Stderr, "monitorbench:", err)
		os.Exit(1)
	}
}

func (o *options) run(ctx context.Context, whole bool) error {
	if o.plan.Seeds < 1 || o.plan.Cores < 1 || len(o.plan.Families) == 0 {
		return fmt.Errorf("use at least one seed, one core and a family")
	}
	debug.SetGCPercent(400) // many small runs: memory is cheaper than the collector
	runs, err := o.plan.Play(ctx, func(n, of int) { fmt.Fprintf(os.Stderr, "\r%d of %d runs", n, of) })
	fmt.Fprintln(os.Stderr)
	if err != nil || !whole {
		return err
	}
	r := monitorbench.NewReport(runs, o.plan.Seeds)
	for _, table := range []func() ([]string, [][]string){r.RuleTable, r.Table, r.FamilyTable} {
		head, cells := table()
		if err := (&terminal.Table{Head: head, Rows: cells}).Write(os.Stdout); err != nil {
			return err
		}
		fmt.Println()
	}
	return o.write(r)
}

// write writes the files that were asked for.
func (o *options) write(r *monitorbench.Report) error {
	if o.json != "" {
		text, err := json.MarshalIndent(r, "", " ")
		if err != nil {
			return err
		}
		if err := renameio.WriteFile(o.json, append(text, '\n'), 0o644); err != nil {
			return err
		}
	}
	if o.picture != "" {
		if err := renameio.WriteFile(o.picture, []byte(r.Picture()), 0o644); err != nil {
			return err
		}
	}
	if o.page != "" {
		return monitorbench.UpdatePage(o.page, r.Markdown())
	}
	return nil
}
