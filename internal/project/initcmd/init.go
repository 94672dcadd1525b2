// Package initcmd is the verb init.
package initcmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/project"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

type options struct {
	host *console.Host
}

// NewCmd is the verb init.
func NewCmd(h *console.Host) *cobra.Command {
	o := &options{host: h}
	return console.Verb(&cobra.Command{
		Use:   "init FOLDER",
		Short: "Create a project: a reward, its tests, and a configuration that trains",
		Long: `Init writes a project into FOLDER, which must be empty or not exist: a reward in
Python, recorded episodes with the results it must give, and a configuration that
trains a small network against it in some ten seconds. README.md says what to
change to make it yours.`,
		Example: "  merit init myproject",
		Args:    console.Exactly("FOLDER"),
		RunE:    o.run,
	}, o)
}

func (o *options) run(_ *cobra.Command, args []string) error {
	files, err := project.New(args[0])
	if err != nil {
		return err
	}
	if o.host.Global.JSON {
		return o.host.PrintJSON(struct {
			Files []string `json:"files"`
		}{files})
	}
	folder, install := console.Quote(args[0]), ""
	if !interpreter.Python().Installed(interpreter.Folder()) {
		install = "  merit python install\n"
	}
	_, err = fmt.Fprintf(o.host.Stdout, "%d files in %s. Next:\n%s  merit reward test %s\n  merit train -c %s --out %s\n",
		len(files), args[0], install, folder, console.Quote(args[0]+"/train.yaml"), console.Quote(args[0]+"/runs/first"))
	return err
}
