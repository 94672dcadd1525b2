package console

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/sandbox"
)

// Move is a command that has a new name. The old one is a word of the first level,
// and works until the next release.
type Move struct {
	Old string
	New []string // the words of the new name
}

// Moved returns args with the new name of a command in place of its old one, and
// has root say so when the command runs, unless --quiet is given. A new name may
// begin with the old one: serve is now serve rewards. The old name then counts only
// where no command of the new group follows it, and no request for help.
func Moved(h *Host, root *cobra.Command, moves []Move, args []string) []string {
	at := word(root, args, 0)
	for at < len(args) && slices.Contains([]string{"help", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}, args[at]) {
		at = word(root, args, at+1)
	}
	if at == len(args) {
		return args
	}
	for _, m := range moves {
		if m.Old != args[at] || m.New[0] == m.Old && !runsItself(root, args, at) {
			continue
		}
		before := root.PersistentPreRunE
		root.PersistentPreRunE = func(cmd *cobra.Command, words []string) error {
			if !h.Global.Quiet {
				h.Logger().Log(cmd.Context(), sandbox.Notice, m.String())
			}
			return before(cmd, words)
		}
		return slices.Concat(args[:at], m.New, args[at+1:])
	}
	return args
}

// runsItself reports whether args run the command at args[at], and none below it.
func runsItself(root *cobra.Command, args []string, at int) bool {
	if at > 0 && word(root, args, 0) < at {
		return false // help is asked for, or a shell completes the words of the group
	}
	next := word(root, args, at+1)
	return (next >= len(args) || strings.HasPrefix(args[next], "-")) && !slices.Contains(args, "--help") && !slices.Contains(args, "-h")
}

// word is the index of the first of args from begin that is not a flag which every
// command has, or the value of one.
func word(root *cobra.Command, args []string, begin int) int {
	for at := begin; at < len(args); at++ {
		name, _, whole := strings.Cut(strings.TrimLeft(args[at], "-"), "=")
		f := root.PersistentFlags().Lookup(name)
		if strings.HasPrefix(args[at], "-") && !strings.HasPrefix(args[at], "--") && len(name) == 1 {
			f = root.PersistentFlags().ShorthandLookup(name)
		}
		if f == nil || !strings.HasPrefix(args[at], "-") {
			return at
		}
		if f.NoOptDefVal == "" && !whole {
			at++
		}
	}
	return len(args)
}

func (m Move) String() string {
	return fmt.Sprintf("merit %s is now merit %s; the old name works until the next release", m.Old, strings.Join(m.New, " "))
}
