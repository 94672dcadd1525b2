package enginecmd

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/engine"
)

type installOptions struct {
	host *console.Host
	place
	Python string `flag:"python" usage:"the program of a Python 3.12 (default: looked for on PATH, in pyenv's versions and uv's)"`
	model  string
}

func newInstallCmd(h *console.Host) *cobra.Command {
	o := &installOptions{host: h}
	cmd := console.Verb(&cobra.Command{
		Use:   "install " + strings.Join(names(), "|"),
		Short: "Fetch an engine from the Python package registry",
		Long: `Install makes a Python 3.12 environment of exactly the packages that this version
of Merit was tested with, held to their digests, without running any code of
theirs: skyrl takes about 850 MB (JAX on the processors, no PyTorch), llama.cpp
100 MB. With skyrl comes the policy plug-in tinker. uv does it in seconds if it is
on PATH, Python's own pip in a minute otherwise.`,
		Example:           "  merit engine install skyrl --model smollm2\n  merit engine install llama.cpp",
		Args:              console.Exactly("ENGINE"),
		ValidArgsFunction: cobra.FixedCompletions(names(), cobra.ShellCompDirectiveNoFileComp),
		RunE:              o.run,
	}, o)
	cmd.Flags().StringVar(&o.model, "model", "", "also fetch this model: "+engine.SmolLM2+" (93 MB; for skyrl it becomes 540 MB)")
	console.Values(cmd, "model", engine.SmolLM2)
	return cmd
}

func (o *installOptions) run(cmd *cobra.Command, args []string) error {
	e, err := engine.Find(args[0])
	if err != nil {
		return err
	}
	folder, err := o.folder(o.host)
	if err != nil {
		return err
	}
	begun := o.host.Now()
	options := engine.InstallOptions{Folder: folder, Python: o.Python, Say: steps(o.host)}
	if err := e.Install(cmd.Context(), options); err != nil {
		return err
	}
	if o.model != "" {
		if _, err := e.Model(cmd.Context(), o.model, options); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(o.host.Stdout, "%s is installed: %s (%s)\n", e.Title, filepath.Join(folder, e.Name), o.host.Now().Sub(begun).Round(time.Second))
	return err
}
