package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/cmd/merit/internal/exit"
	"github.com/merit-rl/merit/core/fault"
)

var errInterrupted = &fault.Error{
	Boundary: fault.CLI, Kind: fault.Interrupted, What: "interrupted",
	Hint: "what was finished has been kept; run the command again to go on",
}

// explain gives an error that no boundary described the words that a user
// needs, and an interrupted command its one reason.
func explain(ctx context.Context, err error) error {
	f := fault.As(err)
	switch {
	case f != nil && f.Kind == fault.Interrupted:
		return err
	case context.Cause(ctx) == error(errInterrupted) && (errors.Is(err, context.Canceled) || errors.Is(err, errInterrupted)):
		return errInterrupted // whatever it was busy with
	case f != nil:
		return err
	case exit.Full(err):
		return cannotWrite(err)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return cannotRead(err)
	}
	return err
}

// cannotRead is an input file that cannot be opened.
func cannotRead(err error) error {
	f := &fault.Error{Boundary: fault.Data, Kind: fault.Missing, What: "cannot read", Err: err, Hint: "check the path"}
	if errors.Is(err, fs.ErrPermission) {
		f.Kind, f.Hint = fault.Refused, "check the owner and mode of the file"
	}
	return f
}

// cannotWrite is a result that cannot be stored.
func cannotWrite(err error) error {
	f := &fault.Error{Boundary: fault.Storage, Kind: fault.Refused, What: "cannot write", Err: err, Hint: "check that the folder exists and may be written to"}
	if exit.Full(err) {
		f.Kind, f.Hint = fault.Exhausted, "free space or write elsewhere; no finished file was damaged"
	}
	return f
}

// usage is a mistake on the command line.
func usage(cmd *cobra.Command, hint, format string, args ...any) error {
	if hint == "" {
		hint = "see " + cmd.CommandPath() + " --help"
	}
	return &fault.Error{Boundary: fault.CLI, Kind: fault.Invalid, What: fmt.Sprintf(format, args...), Hint: hint}
}

// noArgs refuses arguments; names says what the verb takes instead.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(cmd, "", "%s takes no argument %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// exactly demands one argument for each name.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != len(names) {
			return usage(cmd, "", "%s takes %s, got %d arguments", cmd.CommandPath(), strings.Join(names, " "), len(args))
		}
		return nil
	}
}

// required complains about every flag of names that was not given.
func required(cmd *cobra.Command, names ...string) error {
	var problems []error
	for _, name := range names {
		if !cmd.Flags().Changed(name) {
			problems = append(problems, usage(cmd, "example:"+exampleOf(cmd), "%s needs --%s", cmd.CommandPath(), name))
		}
	}
	return errors.Join(problems...)
}

func exampleOf(cmd *cobra.Command) string {
	line, _, _ := strings.Cut(strings.TrimSpace(cmd.Example), "\n")
	return " " + line
}
