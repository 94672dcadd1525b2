package registrycmd

import (
	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	oci "github.com/merit-rl/merit/internal/registry"
)

type pullOptions struct {
	flags
	to oci.Target
}

// NewPullCmd returns merit reward pull.
func NewPullCmd(h *console.Host) *cobra.Command {
	o := &pullOptions{flags: flags{host: h}}
	cmd := console.Verb(&cobra.Command{
		Use:   "pull REFERENCE",
		Short: "Fetch a reward from an OCI registry",
		Long: `Pull fetches a reward and verifies the digest of every part, and of the whole reward
against the one that its author saw. It then moves the reward into place atomically, as
NAME.wasm, the script's own file, or a folder NAME, where NAME is the end of the
repository. It replaces existing files only with --force.

REFERENCE is registry/repository:tag, whose content can change, or
registry/repository@sha256:…, which always refers to the same bytes.`,
		Example: "  merit reward pull localhost:5000/rewards/gsm8k:1.0 --out gsm8k.wasm",
		Args:    console.Exactly("REFERENCE"),
		RunE:    o.run,
	}, o)
	cmd.Flags().StringVar(&o.to.Path, "out", "", "the module, file or folder to create (default: named after the repository)")
	cmd.Flags().BoolVar(&o.to.Replace, "force", false, "replace an existing file or folder")
	console.Output(cmd, "out")
	return cmd
}

func (o *pullOptions) run(cmd *cobra.Command, args []string) error {
	if o.to.Path == "-" {
		return console.Usage(cmd, "set the file or folder to write with --out", "cannot write a reward to standard output")
	}
	options, err := o.options(cmd)
	if err != nil {
		return err
	}
	end := o.progress(&options, "pull")
	p, err := oci.Pull(cmd.Context(), args[0], o.to, options)
	end()
	if err != nil {
		return o.hint(err)
	}
	if p.Here != p.Reward.Digest {
		terminal.Warning(o.host.Stderr, o.host.ErrStyle(), &fault.Error{
			Boundary: fault.Registry, Kind: fault.Protocol, Where: p.Reference, What: "the reward was pushed by another version of Merit; in this version its digest is " + p.Here,
			Hint: "check its results: the files are the same, but another interpreter runs them",
		})
	}
	if o.host.Global.JSON {
		return o.host.PrintJSON(p)
	}
	return o.report(p.Artifact, [2]string{"path", p.Path})
}
