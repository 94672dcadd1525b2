package plugincmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/host"
	"github.com/merit-rl/merit/internal/host/disk"
)

type infoOptions struct {
	host  *console.Host
	Write bool `flag:"write-manifest" usage:"write the description into the plug-in's manifest"`
}

func newInfoCmd(h *console.Host) *cobra.Command {
	o := &infoOptions{host: h}
	return console.Verb(&cobra.Command{
		Use:   "info NAME|PATH...",
		Short: "Start plug-ins and show what they report about themselves",
		Long: `Info starts each plug-in and shows its description, its options, and the digest that
pins it. The keys policy.digest and environment.digest of a configuration, and the list
of allowed plug-ins, take this digest.

With --write-manifest, info also writes the description into a manifest (plugin.yaml in
a folder, NAME.plugin.yaml next to a file), which merit plugin list reads.`,
		Example: "  merit plugin info sokoban\n  merit plugin info ./maze.py",
		Args:    cobra.MinimumNArgs(1),
		RunE:    o.run,
	}, o)
}

func (o *infoOptions) run(cmd *cobra.Command, args []string) error {
	found := []host.Found{}
	var problems []error
	for _, a := range args {
		path, err := find(o.host, a)
		if err == nil {
			var f host.Found
			if f, err = o.ask(cmd.Context(), path); err == nil {
				found = append(found, f)
			}
		}
		problems = append(problems, err)
	}
	if o.host.Global.JSON {
		problems = append(problems, o.host.PrintJSON(found))
	}
	for i, f := range found {
		if !o.host.Global.JSON {
			if i > 0 {
				fmt.Fprintln(o.host.Stdout)
			}
			problems = append(problems, o.details(f))
		}
		if o.Write {
			problems = append(problems, writeManifest(f))
		}
	}
	return errors.Join(problems...)
}

// ask starts a plug-in. One whose manifest is to be written may differ from the manifest.
func (o *infoOptions) ask(ctx context.Context, path string) (host.Found, error) {
	digest := ""
	if o.Write {
		var err error
		if digest, err = disk.Digest(path); err != nil {
			return host.Found{}, err
		}
	}
	return ask(ctx, path, digest)
}

// writeManifest writes a plug-in's description into its manifest. It keeps the command
// of a folder and the options that the author described.
func writeManifest(f host.Found) error {
	m := manifest(f)
	m.Digest = "sha256:" + f.Digest
	if of, err := disk.ReadManifest(f.Path); err == nil && of != nil {
		m.Command = of.Command
		if of.Options != nil && of.Command != nil {
			m.Options = of.Options
		}
	}
	_, err := disk.WriteManifest(f.Path, &m)
	return err
}

// details prints a plug-in with its options and their defaults.
func (o *infoOptions) details(f host.Found) error {
	var t terminal.Table
	row := func(key, value string) {
		if value != "" {
			t.Add(key, terminal.Clean(value))
		}
	}
	row("name", f.Name)
	row("kind", f.Kind)
	row("version", f.Version)
	row("what it is", f.Summary)
	row("path", f.Path)
	row("digest", "sha256:"+f.Digest)
	row("protocol", fmt.Sprint(f.Protocol))
	row("actions", strings.Join(f.Actions, ", "))
	if len(f.FeatureShape) > 0 {
		row("features", fmt.Sprint(f.FeatureShape))
	}
	if f.MaxSteps > 0 {
		row("max steps", fmt.Sprint(f.MaxSteps))
	}
	row("tools", string(f.Tools))
	if err := t.Write(o.host.Stdout); err != nil {
		return err
	}
	var options map[string]json.RawMessage
	if err := strictjson.Unmarshal(f.Options, &options); err != nil || len(options) == 0 {
		return nil // a plug-in without options
	}
	fmt.Fprintf(o.host.Stdout, "\noptions (%s.options in the configuration), with their defaults:\n", f.Kind)
	t = terminal.Table{}
	for _, key := range slices.Sorted(maps.Keys(options)) {
		t.Add("", key, string(options[key]))
	}
	return t.Write(o.host.Stdout)
}
