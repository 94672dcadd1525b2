package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/sdk/merit"
)

func newVersionCmd(h *console.Host) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of Merit and of its interpreters",
		Long: `Version prints the version of Merit, its commit with the commit's date, and the Go
release and platform. It also lists the interpreters that run rewards in Python and
JavaScript, and the userland that Harbor tasks run on, each with its digest. Merit runs
no file with another digest.`,
		Example: "  merit version --json",
		Args:    console.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := merit.ReadVersion()
			if h.Global.JSON {
				return h.PrintJSON(v)
			}
			return writeVersion(h.Stdout, v)
		},
	}
}

func versionLine(v merit.Version) string {
	return fmt.Sprintf("merit %s %s %s", v.Version, v.Go, v.Platform)
}

func writeVersion(w io.Writer, v merit.Version) error {
	_, err := fmt.Fprintf(w, "%s\ncommit       %s\n", versionLine(v), origin(v))
	for _, i := range v.Interpreters {
		state, from := "not installed", "npm "+i.Package
		if i.Installed {
			state = "installed"
		}
		switch {
		case len(i.Includes) > 0:
			from = "with " + strings.Join(i.Includes, ", ")
		case i.Package == "":
			from = "built by Merit"
		}
		if err == nil {
			_, err = fmt.Fprintf(w, "%-11s  %s, %s, %s, %s\n", i.Name, i.Title, from, i.Digest, state)
		}
	}
	return err
}

// origin describes what v was built from.
func origin(v merit.Version) string {
	switch {
	case v.Revision != "" && v.Modified:
		return fmt.Sprintf("%s of %s, with uncommitted changes", v.Revision, v.Time)
	case v.Revision != "":
		return fmt.Sprintf("%s of %s", v.Revision, v.Time)
	case v.Sum != "":
		return "unknown: built from the module " + v.Version + ", " + v.Sum
	}
	return "unknown: built without version control"
}
