// Package proxycmd implements merit traces proxy, which records model calls that pass through it.
package proxycmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/traces/collecting"
	"github.com/merit-rl/merit/internal/traces/proxying"
)

type options struct {
	host   *console.Host
	config proxying.Config
	File   string   `flag:"config,c" usage:"configuration file of merit traces collect; only store, redact, retention, rewards and sandbox are used" files:"yaml,yml"`
	Set    []string `flag:"set" usage:"override a value of that configuration: key.path=value (repeatable)"`
}

// NewCmd returns the proxy command.
func NewCmd(h *console.Host) *cobra.Command {
	o := &options{host: h, config: proxying.DefaultConfig()}
	cmd := console.Verb(&cobra.Command{
		Use:   "proxy",
		Short: "Record the calls that agents send to a model",
		Long: `Proxy records calls between agents and a server with OpenAI's or Anthropic's API. To record
an agent, set its base URL to the proxy's; the agent needs no other change. The proxy forwards
answers unchanged, and a slow store never delays a call.

An agent may say to which trace a call belongs: with the headers X-Merit-Trace,
X-Merit-Agent, X-Merit-Task, X-Merit-Parent and X-Merit-Metadata, in its base URL
(http://127.0.0.1:8710/t/TRACE/a/AGENT/task/TASK/v1), or with W3C's traceparent. The proxy
also reads the sessions that Claude Code, Codex and opencode send. It joins other calls if one
continues the conversation of another. Sub-agents and compactions are branches of a trace.

SIGTERM and Ctrl-C let open calls finish and record them; a second signal stops the proxy
at once. GET /-/stats counts what was recorded.`,
		Example: "  merit traces proxy --upstream http://127.0.0.1:8080/v1\n  merit traces proxy --upstream https://api.openai.com/v1 --upstream-key-env OPENAI_API_KEY --store traces.db\n  merit traces proxy --upstream https://api.anthropic.com --upstream-key-env ANTHROPIC_API_KEY",
		RunE:    o.run,
	}, o)
	f := cmd.Flags()
	c := &o.config
	f.StringVar(&c.Upstream, "upstream", "", "base URL of the model server's API")
	f.StringVar(&c.Listen, "listen", c.Listen, "HOST:PORT")
	f.StringVar(&c.Store, "store", "", "trace store: a file or postgres:// address (default $MERIT_TRACES, else traces.db)")
	f.StringVar(&c.Agent, "agent", "", "agent of calls that name none")
	f.StringVar(&c.Task, "task", "", "task of calls that name none")
	f.StringVar(&c.Add, "add", "", `JSON object of fields to add to requests that lack them, such as '{"logprobs": true}'`)
	f.StringVar(&c.UpstreamKeyEnv, "upstream-key-env", "", "environment variable with the upstream's key, so that agents do not need it")
	f.StringVar(&c.KeyFile, "key-file", "", "file with the key that agents must send as X-Merit-Key")
	console.Certificates(cmd, &c.TLS.Cert, &c.TLS.Key, &c.TLS.ClientCA)
	f.DurationVar(&c.Drain, "drain", c.Drain, "shutdown grace period")
	console.Renamed(cmd, "key-env", "upstream-key-env")
	return cmd
}

// load reads the settings of the store.
func (o *options) load() (err error) {
	if o.File == "" {
		o.config.Collect, err = collecting.Parse("", nil, "", o.Set...)
	} else {
		o.config.Collect, err = collecting.Load(o.File, o.Set...)
	}
	return err
}

func (o *options) run(cmd *cobra.Command, _ []string) error {
	if o.config.Upstream == "" {
		return console.Usage(cmd, "set the model server: --upstream http://127.0.0.1:8080/v1", "the model server is not set")
	}
	if err := o.load(); err != nil {
		return err
	}
	s, err := proxying.Open(cmd.Context(), o.config, proxying.Options{Logger: o.host.Logger(), Getenv: o.host.Env})
	if err != nil {
		return err
	}
	if err := o.ready(s); err != nil {
		return errors.Join(err, s.Close())
	}
	said := make(chan struct{})
	stop := context.AfterFunc(cmd.Context(), func() {
		defer close(said)
		fmt.Fprintln(o.host.Stderr, "waiting for open calls; press Ctrl-C again to stop at once")
	})
	if err = s.Serve(cmd.Context()); !stop() {
		<-said
	}
	n := s.Stats()
	fmt.Fprintf(o.host.Stderr, "recorded %s (%d failed), lost %d, passed %s, redacted %s\n",
		terminal.Count(n.Recorded, "call"), n.Failed, n.Lost, terminal.Count(n.Passed, "other request"), terminal.Count(s.Summary().Secrets(), "secret"))
	return err
}

// ready prints the address for agents.
func (o *options) ready(s *proxying.Server) error {
	if o.host.Global.JSON {
		return o.host.PrintJSON(struct {
			URL      string `json:"url"`
			Upstream string `json:"upstream"`
			Store    string `json:"store"`
		}{s.URL(), o.config.Upstream, s.Store()})
	}
	_, err := fmt.Fprintf(o.host.Stdout, "forwarding model calls from %s/v1 to %s, recording to %s\n", s.URL(), o.config.Upstream, s.Store())
	return err
}
