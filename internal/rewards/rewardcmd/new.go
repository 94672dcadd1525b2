package rewardcmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/rewards/guest"
)

type newOptions struct {
	host *console.Host
	lang string
}

func newNewCmd(h *console.Host) *cobra.Command {
	o := &newOptions{host: h}
	var names []string
	for _, l := range guest.Languages() {
		names = append(names, l.Name)
	}
	cmd := console.Verb(&cobra.Command{
		Use:     "new FOLDER",
		Short:   "Create a reward that builds and passes its test",
		Example: "  merit reward new exactness --lang go",
		Args:    console.Exactly("FOLDER"),
		RunE:    o.run,
	})
	cmd.Flags().StringVar(&o.lang, "lang", "go", strings.Join(names, ", "))
	console.Values(cmd, "lang", names...)
	return cmd
}

func (o *newOptions) run(_ *cobra.Command, args []string) error {
	lang, err := guest.Find(o.lang)
	if err != nil {
		return err
	}
	files, err := lang.Scaffold(args[0])
	if err != nil {
		return err
	}
	if o.host.Global.JSON {
		return o.host.PrintJSON(struct {
			Files []string `json:"files"`
		}{files})
	}
	build := ""
	if lang.Script == "" {
		build = fmt.Sprintf("  merit reward build %s\n", args[0])
	}
	_, err = fmt.Fprintf(o.host.Stdout, "%d files in %s. Next:\n%s  merit reward test %s\n", len(files), args[0], build, args[0])
	return err
}
