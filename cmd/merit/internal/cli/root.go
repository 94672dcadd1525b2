package cli

import (
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/cmd/merit/internal/exit"
	"github.com/merit-rl/merit/cmd/merit/internal/ui"
)

func newRoot(h *Host) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "merit",
		Short: "Train agents against reward functions that nobody has to trust",
		Long: `Merit runs reward functions as sandboxed WebAssembly, rolls out agents in
plug-in environments, assigns credit with GiGPO and trains policies.

Results go to stdout, progress and messages to stderr. Every error ends with
what to do next and an exit code: see merit help exit-codes.`,
		SilenceUsage:      true,
		SilenceErrors:     true,
		Args:              unknownCommand,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: h.checkGlobals,
	}
	cmd.SetIn(h.Stdin)
	cmd.SetOut(h.Stdout)
	cmd.SetErr(h.Stderr)
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usage(cmd, "", "%v", err) })
	f := cmd.PersistentFlags()
	f.StringVar(&h.global.logLevel, "log-level", "warn", "log at debug, info, warn or error")
	f.StringVar(&h.global.logFormat, "log-format", "text", "log as text or json")
	f.BoolVar(&h.global.json, "json", false, "print results as JSON")
	f.BoolVar(&h.global.noColor, "no-color", false, "no colours, even on a terminal")
	f.BoolVarP(&h.global.quiet, "quiet", "q", false, "no progress")
	cmd.AddCommand(verbs(h)...)
	cmd.AddCommand(newExitCodesTopic(h))
	return cmd
}

func (h *Host) checkGlobals(cmd *cobra.Command, _ []string) error {
	var level slog.Level
	if err := level.UnmarshalText([]byte(h.global.logLevel)); err != nil {
		return usage(cmd, "use debug, info, warn or error", "--log-level %q is not a level", h.global.logLevel)
	}
	if f := h.global.logFormat; f != "text" && f != "json" {
		return usage(cmd, "use text or json", "--log-format %q is not a format", f)
	}
	return nil
}

// unknownCommand serves commands that only hold others.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	hint := ""
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "did you mean " + cmd.CommandPath() + " " + strings.Join(near, " or ") + "?"
	}
	return usage(cmd, hint, "unknown command %q for %s", args[0], cmd.CommandPath())
}

// newExitCodesTopic makes `merit help exit-codes`.
func newExitCodesTopic(h *Host) *cobra.Command {
	topic := &cobra.Command{Use: "exit-codes", Short: "The exit codes and what they mean"}
	topic.SetHelpFunc(func(*cobra.Command, []string) {
		var t ui.Table
		t.Head = []string{"code", "name", "meaning"}
		for _, c := range exit.Table() {
			t.Add(itoa(c.Number), c.Name, c.Meaning)
		}
		_ = t.Write(h.Stdout) // help that cannot be printed has nobody to tell
	})
	return topic
}
