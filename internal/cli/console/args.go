package console

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/merit-rl/merit/core/fault"
)

// Usage returns the error of a wrong command line.
func Usage(cmd *cobra.Command, hint, format string, args ...any) error {
	if hint == "" {
		hint = "see " + cmd.CommandPath() + " --help"
	}
	return &fault.Error{Boundary: fault.CLI, Kind: fault.Invalid, What: fmt.Sprintf(format, args...), Hint: hint}
}

// WrongFlag returns the error of a wrong flag of cmd.
func WrongFlag(cmd *cobra.Command, err error) error {
	if typed := cmd.Flags().Args(); cmd.HasSubCommands() && len(typed) > 0 {
		return UnknownCommand(cmd, typed) // its flags are those of the command that was meant
	}
	hint := ""
	if wrong := new(pflag.NotExistError); errors.As(err, &wrong) {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := fault.Nearest(wrong.GetSpecifiedName(), names); near != "" {
			hint = "did you mean --" + near + "?"
		}
	}
	if wrong := new(pflag.InvalidValueError); errors.As(err, &wrong) {
		return Usage(cmd, "", "%s", wrongValue(wrong))
	}
	return Usage(cmd, hint, "%v", err)
}

// valuesOf describes the values of a flag by its type.
var valuesOf = map[string]string{
	"int": "a whole number", "int64": "a whole number", "uint64": "a whole number, 0 or more",
	"float64": "a number", "intSlice": "a list of whole numbers such as 1,2,4", "duration": "a duration such as 500ms, 30s or 2h", "bool": "true or false",
}

// wrongValue says which values a flag accepts, instead of how Go failed to parse one.
func wrongValue(wrong *pflag.InvalidValueError) string {
	f := wrong.GetFlag()
	accepted := valuesOf[f.Value.Type()]
	switch {
	case accepted == "":
		return fmt.Sprintf("--%s %q: %v", f.Name, wrong.GetValue(), errors.Unwrap(wrong))
	case strings.HasSuffix(errors.Unwrap(wrong).Error(), strconv.ErrRange.Error()):
		return fmt.Sprintf("--%s is out of range: %s", f.Name, wrong.GetValue())
	}
	return fmt.Sprintf("--%s must be %s, not %q", f.Name, accepted, wrong.GetValue())
}

// NoArgs allows no arguments.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usage(cmd, "", "%s does not take the argument %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// Exactly requires one argument for each name.
func Exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != len(names) {
			return Usage(cmd, "", "%s takes %s, got %d arguments", cmd.CommandPath(), strings.Join(names, " "), len(args))
		}
		return nil
	}
}

// AtMost allows at most one argument for each name.
func AtMost(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > len(names) {
			return Usage(cmd, "", "%s takes at most %s, got %d arguments", cmd.CommandPath(), strings.Join(names, " "), len(args))
		}
		return nil
	}
}

// requiredFlag annotates the required flags of a command.
const requiredFlag = "merit_required"

// Needs declares required flags of cmd. Before it runs, cmd reports each of them that is
// missing.
func Needs(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		must(cmd.Flags().SetAnnotation(name, requiredFlag, nil))
	}
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return Required(cmd, names...) }
}

// Needed reports whether the flag is required.
func Needed(f *pflag.Flag) bool {
	_, needed := f.Annotations[requiredFlag]
	return needed
}

// Required returns an error for each flag of names that was not given.
func Required(cmd *cobra.Command, names ...string) error {
	var problems []error
	for _, name := range names {
		if flag := cmd.Flags().Lookup(name); !flag.Changed {
			problems = append(problems, Usage(cmd, "example:"+exampleOf(cmd), "%s needs --%s", cmd.CommandPath(), name))
		}
	}
	return errors.Join(problems...)
}

func exampleOf(cmd *cobra.Command) string {
	line, _, _ := strings.Cut(strings.TrimSpace(cmd.Example), "\n")
	return " " + line
}

// UnknownCommand rejects the arguments of a command that only groups others.
func UnknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	hint := ""
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "did you mean " + cmd.CommandPath() + " " + strings.Join(near, " or ") + "?"
	}
	return Usage(cmd, hint, "unknown command %q for %s", args[0], cmd.CommandPath())
}

// wordFlag annotates a flag whose value is a word, and not a file of this name.
const wordFlag = "merit_word"

func isWord(f *pflag.Flag) bool { return f.Annotations[wordFlag] != nil }

// Values makes shells complete the flag of cmd with a closed set of words.
func Values(cmd *cobra.Command, flag string, words ...string) {
	f := cmd.Flag(flag) // or a persistent one
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[wordFlag] = []string{}
	must(cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)))
}

// Complete makes shells complete the flag of cmd with the result of words for the typed text.
func Complete(cmd *cobra.Command, flag string, words func(begun string) []string) {
	must(cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		var fitting []string
		for _, word := range words(begun) {
			if strings.HasPrefix(word, begun) {
				fitting = append(fitting, word)
			}
		}
		return fitting, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}))
}

// Files makes shells complete the flag of cmd with files that have one of these endings.
func Files(cmd *cobra.Command, flag string, endings ...string) {
	must(cmd.MarkFlagFilename(flag, endings...))
}

// Certificates gives cmd the flags of a server's certificates.
func Certificates(cmd *cobra.Command, cert, key, clientCA *string) {
	f := cmd.Flags()
	f.StringVar(cert, "tls-cert", "", "PEM file with the server's certificate, which turns on TLS; a renewed file takes effect at the next connection")
	f.StringVar(key, "tls-key", "", "PEM file with the private key of --tls-cert")
	f.StringVar(clientCA, "tls-client-ca", "", "PEM file with the root certificates that must have signed a client's certificate")
	for _, flag := range []string{"tls-cert", "tls-key", "tls-client-ca"} {
		Files(cmd, flag, "pem", "crt", "key")
	}
}

// Renamed makes cmd also accept the former name of a flag, which the help does not show.
func Renamed(cmd *cobra.Command, before, now string) {
	inner := cmd.Flags().GetNormalizeFunc()
	cmd.Flags().SetNormalizeFunc(func(f *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == before {
			name = now
		}
		return inner(f, name)
	})
}

// must panics if a command completes a flag that it does not have.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
