package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"time"

	"github.com/merit-rl/merit/sandbox/interpreter"
)

func main() {
	o := options{out: os.Stdout}
	flag.StringVar(&o.folder, "folder", filepath.Join("examples", "rewards"), "where the rewards lie")
	flag.StringVar(&o.work, "work", filepath.Join("runs", "rewards"), "where the measurements keep compiled interpreters")
	flag.StringVar(&o.python, "python", "python3", "a Python with pip, for rewards that need packages")
	flag.DurationVar(&o.time, "time", 3*time.Second, "how long each row is measured")
	flag.BoolVar(&o.check, "check", false, "compare what does not depend on the machine with the READMEs; write nothing")
	flag.BoolVar(&o.install, "install", false, "only install the packages that the rewards need, and build those in compiled languages")
	flag.BoolVar(&o.catalogue, "catalogue", false, "only make the table of all rewards anew, from their READMEs")
	flag.Parse()
	o.names = flag.Args()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type options struct {
	folder, work, python string
	names                []string // of rewards; all if empty
	time                 time.Duration
	check, install       bool
	catalogue            bool
	out                  io.Writer
}

// run does for each reward what was asked for; the error joins those of all.
func run(ctx context.Context, o options) error {
	if o.catalogue {
		return catalogue(o)
	}
	names, err := named(o.folder, o.names)
	if err != nil {
		return err
	}
	var problems []error
	for _, name := range names {
		if err := one(ctx, o, name); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", name, err))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if len(problems) == 0 && !o.install {
		problems = append(problems, catalogue(o))
	}
	return errors.Join(problems...)
}

// named returns the rewards to measure: those asked for, or all.
func named(folder string, asked []string) ([]string, error) {
	found, err := filepath.Glob(filepath.Join(folder, "*", numbersFile))
	if err != nil || len(found) == 0 {
		return nil, errors.Join(fmt.Errorf("%s holds no folder with a %s: start in the root of the repository, or set -folder", folder, numbersFile), err)
	}
	var all []string
	for _, path := range found {
		all = append(all, filepath.Base(filepath.Dir(path)))
	}
	for _, name := range asked {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("there is no reward %s; there are %v", name, all)
		}
	}
	if len(asked) > 0 {
		return asked, nil
	}
	return all, nil
}

// one installs, measures, and writes or compares the table of a reward.
func one(ctx context.Context, o options, name string) error {
	folder := filepath.Join(o.folder, name)
	n, err := readNumbers(folder)
	if err != nil {
		return err
	}
	if err := prepare(ctx, o.python, folder); err != nil || o.install {
		return err
	}
	if err := best(); err != nil {
		return err
	}
	var rows []measured
	for _, r := range n.Rows {
		m, err := measure(ctx, o, folder, n, r)
		if err != nil {
			return fmt.Errorf("%s: %w", r.Name, err)
		}
		fmt.Fprintf(o.out, "%-10s  %s\n", name, m)
		rows = append(rows, m)
	}
	readme := filepath.Join(folder, "README.md")
	if o.check {
		return compare(readme, rows)
	}
	return write(readme, table(n, rows))
}

// best reports an interpreter that uses other amounts of fuel than the one whose numbers the
// READMEs show.
func best() error {
	for _, i := range interpreter.All() {
		if best := i.Builds()[0]; best.Digest != i.Digest {
			return fmt.Errorf("the numbers are those of %s, Merit's own build, which is not installed: run make interpreter", best.Title)
		}
	}
	return nil
}

// prepare installs the packages of a script, or compiles a module.
func prepare(ctx context.Context, python, folder string) error {
	if err := installPackages(ctx, python, folder); err != nil {
		return err
	}
	return buildModule(ctx, folder)
}
