package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/cmd/merit/internal/console"
	"github.com/merit-rl/merit/cmd/merit/internal/ui"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/plugins/host"
	"github.com/merit-rl/merit/sdk/merit"
)

func newPluginsCmd(h *console.Host) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plugins",
		Short: "Find plug-ins: environments and policies",
		Args:  console.UnknownCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPluginsListCmd(h))
	return cmd
}

type pluginsListOptions struct{ host *console.Host }

func newPluginsListCmd(h *console.Host) *cobra.Command {
	o := &pluginsListOptions{host: h}
	return &cobra.Command{
		Use:   "list [NAME|PATH...]",
		Short: "List the plug-ins that are found, with their options",
		Long: `List starts every plug-in that it finds and asks it who it is. Plug-ins are
searched in the folders of $MERIT_PLUGINS, in plugins beside the merit binary,
in bin/plugins and with the engines that are installed; a name in a configuration
is looked up in the same order.
A plug-in given by name or path is shown with all its options.`,
		Example: "  merit plugins list\n  merit plugins list sokoban",
		RunE:    o.run,
	}
}

func (o *pluginsListOptions) run(cmd *cobra.Command, args []string) error {
	found, err := o.find(cmd, args)
	if err != nil {
		return err
	}
	if o.host.Global.JSON {
		return o.host.PrintJSON(listed(found))
	}
	if len(found) == 0 {
		return &fault.Error{
			Boundary: fault.Plugin, Kind: fault.Missing, What: "no plug-ins in " + strings.Join(merit.PluginFolders(o.host.Env), ", "),
			Hint: "make build puts the shipped ones into bin/plugins; $" + merit.PluginsVariable + " names other folders",
		}
	}
	t := ui.Table{Head: []string{"name", "kind", "version", "protocol", "what it is", "path"}}
	for _, f := range found {
		summary := f.Summary
		if f.Err != nil {
			summary = o.host.OutStyle().Red("broken: ") + ui.Clean(firstLine(f.Err.Error()))
		}
		t.Add(f.Name, f.Kind, f.Version, fmt.Sprint(f.Protocol), summary, f.Path)
	}
	if err := t.Write(o.host.Stdout); err != nil || len(args) == 0 {
		return err
	}
	return o.details(found)
}

// find inspects the plug-ins that args name, or all.
func (o *pluginsListOptions) find(cmd *cobra.Command, args []string) ([]host.Found, error) {
	folders := merit.PluginFolders(o.host.Env)
	if len(args) == 0 {
		return host.Discover(cmd.Context(), folders...)
	}
	var all []host.Found
	var problems []error
	for _, a := range args {
		path, err := host.Find(a, folders...)
		if err == nil {
			var found host.Found
			found, err = host.Inspect(cmd.Context(), path)
			all = append(all, found)
		}
		problems = append(problems, err)
	}
	return all, errors.Join(problems...)
}

// details prints the options of each plug-in with their defaults.
func (o *pluginsListOptions) details(found []host.Found) error {
	for _, f := range found {
		fmt.Fprintf(o.host.Stdout, "\n%s options (%s.options in the configuration):\n", f.Name, f.Kind)
		var options map[string]json.RawMessage
		if err := json.Unmarshal(f.Options, &options); err != nil {
			continue // a plug-in without options
		}
		var t ui.Table
		for _, key := range slices.Sorted(maps.Keys(options)) {
			t.Add("", key, string(options[key]))
		}
		if len(f.Actions) > 0 {
			t.Add("actions", strings.Join(f.Actions, ", "))
		}
		if err := t.Write(o.host.Stdout); err != nil {
			return err
		}
	}
	return nil
}

// listing is a plug-in with its error as text, for --json.
type listing struct {
	host.Found
	Error string `json:"error,omitempty"`
}

func listed(found []host.Found) []listing {
	out := []listing{}
	for _, f := range found {
		l := listing{Found: f}
		if f.Err != nil {
			l.Error = f.Err.Error()
		}
		out = append(out, l)
	}
	return out
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
