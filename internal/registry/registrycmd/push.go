package registrycmd

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/cli/console"
	oci "github.com/merit-rl/merit/internal/registry"
	"github.com/merit-rl/merit/internal/rewards/rewardcmd"
)

type pushOptions struct {
	flags
	rewardcmd.Parameters
}

// NewPushCmd returns merit reward push.
func NewPushCmd(h *console.Host) *cobra.Command {
	o := &pushOptions{flags: flags{host: h}}
	return console.Verb(&cobra.Command{
		Use:   "push REWARD REFERENCE",
		Short: "Store a reward in an OCI registry",
		Long: `Push loads a reward once to test it, and stores it in a registry: a module unchanged, or
a script with exactly those files that its digest covers. It does not push a reward that
fails to load. REFERENCE is registry/repository:tag; the default tag is latest.

Push also stores the function of file.py:function and the parameters of --with, and the
digest covers them. The same reward always makes the same artifact.

Credentials come from Docker's configuration and its helpers.`,
		Example: "  merit reward push gsm8k.wasm localhost:5000/rewards/gsm8k:1.0",
		Args:    console.Exactly("REWARD", "REFERENCE"),
		RunE:    o.run,
	}, o)
}

func (o *pushOptions) run(cmd *cobra.Command, args []string) error {
	n, err := rewardcmd.Name(args[0], o.With)
	if err != nil {
		return err
	}
	ref, err := n.Find()
	if err != nil {
		return err
	}
	options, err := o.options(cmd)
	if err != nil {
		return err
	}
	end := o.progress(&options, "push")
	a, err := oci.Push(cmd.Context(), ref, args[1], options)
	end()
	if errors.Is(err, fault.Of(fault.Sandbox, fault.Refused)) {
		return rewardcmd.Teach(ref.Path, options.Sandbox.Limits, err)
	}
	if err != nil {
		return o.hint(err)
	}
	if o.host.Global.JSON {
		return o.host.PrintJSON(a)
	}
	return o.report(a)
}
