package servecmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/openenv/envserver"
	"github.com/merit-rl/merit/sdk/merit"
)

type environmentOptions struct {
	host    *console.Host
	Config  string   `flag:"config,c" usage:"configuration file; only seed, environment and rollout.action are used" files:"yaml,yml"`
	Set     []string `flag:"set" usage:"override a value of the configuration: key.path=value (repeatable)"`
	Plugin  string   `flag:"plugin" usage:"the same as --set environment.plugin="`
	Options string   `flag:"options" usage:"the same as --set environment.options=, such as '{boxes: 2}'"`
	Slots   int      `flag:"slots" usage:"the same as --set environment.slots=: sessions per process"`
	serve   envserver.Config
}

// newEnvironmentCmd returns the command serve env.
func newEnvironmentCmd(h *console.Host) *cobra.Command {
	o := &environmentOptions{host: h, serve: envserver.DefaultConfig()}
	cmd := console.Verb(&cobra.Command{
		Use:   "env",
		Short: "Serve an environment to OpenEnv and MCP clients",
		Long: `Env lets OpenEnv clients play one of Merit's environments. A session is a WebSocket
at /ws and has its own slot in a plug-in process. The number of sessions is at most
processes times slots; further clients get the answer that the server is full. /health,
/metadata and /schema describe the environment. MCP clients call its tools at /mcp; there,
a session is one episode, and the address may contain its seed: /mcp?seed=7.

SIGTERM and Ctrl-C let the server answer open requests and end the sessions; a second
signal stops it at once.`,
		Example: "  merit serve env -c quickstart/train.yaml\n  merit serve env --plugin sokoban --options '{boxes: 2}' --slots 256 --processes 4",
		RunE:    o.run,
	}, o)
	f := cmd.Flags()
	f.IntVar(&o.serve.Processes, "processes", o.serve.Processes, "number of processes of the environment")
	f.StringVar(&o.serve.Split, "split", o.serve.Split, "split of the tasks: train, validation or test")
	f.StringVar(&o.serve.Listen, "listen", o.serve.Listen, "HOST:PORT")
	f.StringVar(&o.serve.KeyEnv, "key-env", "", "environment variable with the key that clients must send")
	f.DurationVar(&o.serve.Idle, "idle", o.serve.Idle, "end a session that is idle for this long; 0 means never")
	f.DurationVar(&o.serve.Drain, "drain", o.serve.Drain, "shutdown grace period")
	f.Int64Var(&o.serve.MaxMessage, "max-message", o.serve.MaxMessage, "maximum bytes of a client's message")
	f.BoolVar(&o.serve.TextOnly, "text-only", false, "omit anchor and features from observations")
	console.Certificates(cmd, &o.serve.TLS.Cert, &o.serve.TLS.Key, &o.serve.TLS.ClientCA)
	console.Values(cmd, "split", "train", "validation", "test")
	return cmd
}

func (o *environmentOptions) run(cmd *cobra.Command, _ []string) error {
	cfg, err := o.load(cmd)
	if err != nil {
		return err
	}
	s, err := envserver.Open(cmd.Context(), cfg, o.serve, envserver.Options{Logger: o.host.Logger(), Getenv: o.host.Env})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := o.ready(s, cfg); err != nil {
		return err
	}
	return s.Serve(cmd.Context())
}

// load returns the configuration that the flags select.
func (o *environmentOptions) load(cmd *cobra.Command) (*merit.Config, error) {
	overrides := append([]string(nil), o.Set...)
	if o.Plugin != "" {
		overrides = append(overrides, "environment.plugin="+quoted(o.Plugin))
	}
	if o.Options != "" {
		overrides = append(overrides, "environment.options="+o.Options)
	}
	if o.Slots != 0 {
		overrides = append(overrides, fmt.Sprintf("environment.slots=%d", o.Slots))
	}
	if o.Config == "" && o.Plugin == "" {
		return nil, console.Usage(cmd, "name a plug-in with --plugin, or a configuration with -c", "no environment is named")
	}
	if o.Config == "" {
		return merit.PlayConfig(overrides...)
	}
	return merit.LoadPartial(o.Config, overrides...)
}

// ready prints the address and what is served.
func (o *environmentOptions) ready(s *envserver.Server, cfg *merit.Config) error {
	about := s.About()
	if o.host.Global.JSON {
		return o.host.PrintJSON(struct {
			URL         string `json:"url"`
			Environment string `json:"environment"`
			Version     string `json:"version"`
			Sessions    int    `json:"sessions"`
		}{s.URL(), about.Name, about.Version, s.Capacity()})
	}
	who := "every process on this machine"
	if o.serve.KeyEnv != "" {
		who = "holders of the key in " + o.serve.KeyEnv
	}
	_, err := fmt.Fprintf(o.host.Stdout, "serving %s %s on %s to %s: %d sessions (processes %d, slots %d)\n",
		about.Name, about.Version, s.URL(), who, s.Capacity(), o.serve.Processes, cfg.Environment.Slots)
	return err
}
