package servecmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/httpd"
	"github.com/merit-rl/merit/internal/traces/learning"
	"github.com/merit-rl/merit/internal/traces/policyserver"
	"github.com/merit-rl/merit/sdk/merit"
)

type policyOptions struct {
	host   *console.Host
	Policy string   `flag:"policy" usage:"run directory whose best policy to serve, or a file in its checkpoints folder"`
	Config string   `flag:"config,c" usage:"configuration whose untrained policy to serve" files:"yaml,yml"`
	Set    []string `flag:"set" usage:"override a value of the configuration: key.path=value (repeatable)"`
	KeyEnv string   `flag:"key-env" usage:"environment variable with the key that clients must send"`
	serve  policyserver.Config
}

// newPolicyCmd returns the command serve policy.
func newPolicyCmd(h *console.Host) *cobra.Command {
	o := &policyOptions{host: h, serve: policyserver.DefaultConfig()}
	cmd := console.Verb(&cobra.Command{
		Use:   "policy",
		Short: "Serve a policy that was trained on traces",
		Long: `Policy answers OpenAI chat completions with one of the choices of a policy: the
policy of a run that learned from traces (merit train --traces), or the untrained one of a
configuration that lists traces.choices, to record a first round. It reads the last
message, selects among the choices that the request offers (guided_choice,
structured_outputs.choice or the enum of a response_format), and returns log-probabilities
if the request asks for them. Temperature 0 takes the most likely choice. With a seed, the
same message gets the same answer.

SIGTERM and Ctrl-C let the server answer open requests; a second signal stops it at once.`,
		Example: "  merit serve policy --policy runs/two-agents\n  merit serve policy -c examples/two-agents/train.yaml --listen 127.0.0.1:8740",
		RunE:    o.run,
	}, o)
	f := cmd.Flags()
	f.StringVar(&o.serve.Listen, "listen", o.serve.Listen, "HOST:PORT")
	f.StringVar(&o.serve.Name, "name", o.serve.Name, "model name in answers")
	f.DurationVar(&o.serve.Drain, "drain", o.serve.Drain, "shutdown grace period")
	console.Certificates(cmd, &o.serve.TLS.Cert, &o.serve.TLS.Key, &o.serve.TLS.ClientCA)
	return cmd
}

func (o *policyOptions) run(cmd *cobra.Command, _ []string) error {
	var err error
	if o.serve.Key, err = httpd.EnvKey("--key-env", o.KeyEnv, o.host.Env); err != nil {
		return err
	}
	player, who, err := o.player(cmd)
	if err != nil {
		return err
	}
	defer player.Close()
	o.serve.Logger = o.host.Logger()
	s, err := policyserver.Open(player, o.serve)
	if err != nil {
		return err
	}
	defer s.Close()
	if o.host.Global.JSON {
		err = o.host.PrintJSON(map[string]any{"url": s.URL(), "policy": who, "choices": player.Choices()})
	} else {
		_, err = fmt.Fprintf(o.host.Stdout, "serving %s on %s: %d choices\n", who, s.URL(), len(player.Choices()))
	}
	if err != nil {
		return err
	}
	return s.Serve(cmd.Context())
}

func (o *policyOptions) player(cmd *cobra.Command) (*learning.Player, string, error) {
	switch {
	case (o.Policy == "") == (o.Config == ""):
		return nil, "", console.Usage(cmd, "give either --policy or -c", "the policy must come from a run, or be the untrained one of a configuration")
	case o.Policy != "":
		p, err := learning.Play(cmd.Context(), o.Policy)
		return p, "the policy of " + o.Policy, err
	}
	cfg, err := merit.LoadPartial(o.Config, o.Set...)
	if err != nil {
		return nil, "", err
	}
	p, err := learning.Untrained(cmd.Context(), cfg)
	return p, "the untrained policy of " + o.Config, err
}
