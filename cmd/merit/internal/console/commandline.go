package console

import (
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// CommandLine returns the command line that was given to cmd, with one more
// flag.
func CommandLine(cmd *cobra.Command, more string) string {
	words := []string{cmd.CommandPath()}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name == more {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			switch f.NoOptDefVal {
			case v:
				words = append(words, "--"+f.Name)
			case "":
				words = append(words, "--"+f.Name, Quote(v))
			default:
				words = append(words, "--"+f.Name+"="+Quote(v))
			}
		}
	})
	return strings.Join(append(words, "--"+more), " ")
}

// plain are words that no shell reads in a special way.
var plain = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// Quote returns word as a shell reads it whole.
func Quote(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
