// Package fleetcmd implements merit fleet, and the flags with which other commands use a fleet.
package fleetcmd

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/fleet"
	"github.com/merit-rl/merit/internal/fleet/queue"
	"github.com/merit-rl/merit/internal/host/disk"
	"github.com/merit-rl/merit/internal/telemetry/outlets"
	"github.com/merit-rl/merit/sdk/merit"
)

type workerOptions struct {
	host *console.Host
	Join string `flag:"join" usage:"address of the server: nats://HOST:PORT or tls://HOST:PORT"`
	access
	Name       string   `flag:"name" usage:"unique name of the worker (default the host's name with a random suffix)"`
	Slots      int      `flag:"slots" usage:"shards to compute at the same time; 0 means one per CPU"`
	Labels     []string `flag:"label" usage:"label of this worker, such as gpu, for runs that require it (repeatable)"`
	Allow      []string `flag:"allow-plugin" usage:"plug-in that jobs may run here: sha256:…, or any (repeatable)"`
	PassEnv    []string `flag:"pass-env" usage:"environment variable that jobs may read (repeatable, or separated by commas)" split:"yes"`
	Metrics    string   `flag:"metrics" usage:"serve Prometheus metrics at HOST:PORT under /metrics, and probes under /healthz and /readyz; :PORT listens only on this machine"`
	WithParent bool     `flag:"with-parent" usage:"stop when standard input ends"`
	// Flags of former versions, which kept contents on disk.
	Cache    string `flag:"cache" usage:"no effect"`
	CacheMiB int64  `flag:"cache-mib" usage:"no effect"`
}

// access holds the flags with which a process authenticates to a server.
type access struct {
	Key     string `flag:"key" usage:"file with the private key of this process (default $MERIT_FLEET_KEY)" files:"key,nk"`
	CA      string `flag:"ca" usage:"PEM file with the certificate authorities to trust, for tls://" files:"pem,crt"`
	Cert    string `flag:"tls-cert" usage:"PEM file with a client certificate, if the server requires one" files:"pem,crt"`
	CertKey string `flag:"tls-key" usage:"PEM file with the private key of --tls-cert" files:"key,pem"`
}

func (a access) config() fleet.Config {
	return fleet.Config{Key: a.Key, CA: a.CA, Cert: a.Cert, CertKey: a.CertKey}
}

// renamed accepts the former names of two flags as aliases.
func renamed(cmd *cobra.Command) *cobra.Command {
	console.Renamed(cmd, "cert", "tls-cert")
	console.Renamed(cmd, "cert-key", "tls-key")
	return cmd
}

// anyPlugin is the value of --allow-plugin that allows all plug-ins.
const anyPlugin = "any"

// newWorkerCmd returns the command fleet worker.
func newWorkerCmd(h *console.Host) *cobra.Command {
	o := &workerOptions{host: h}
	cmd := renamed(console.Verb(&cobra.Command{
		Use:   "worker",
		Short: "Play and score episodes for runs on other machines",
		Long: `Worker joins the fleet of a server and computes what coordinators, such as merit train
--fleet, ask for: it plays groups of episodes, scores them in its sandbox, and returns
them. It receives the files of a job over the network and identifies them by digest.

A coordinator may send plug-ins, which are programs. A worker runs a plug-in if the same
bytes are installed here, or if --allow-plugin lists its digest; --allow-plugin any
allows every plug-in that coordinators send. A job may ask for variables of the worker's
environment, such as the key of a judge (pass_env, key_env). The worker passes only those
that --pass-env names, and refuses a job that asks for others.

Coordinator and worker must run the same build of merit. Ctrl-C and SIGTERM let the
worker finish its shards and exit with code 0; a second signal stops it at once, and
other workers compute its shards.`,
		Example: "  merit fleet worker --join nats://127.0.0.1:4222 --key worker.key\n  merit fleet worker --join tls://trainer.example:4222 --key worker.key --ca ca.pem --slots 8 --label gpu",
		RunE:    o.run,
	}, o))
	for _, name := range []string{"with-parent", "cache", "cache-mib"} {
		if err := cmd.Flags().MarkHidden(name); err != nil {
			panic(err) // a misspelled flag
		}
	}
	return cmd
}

func (o *workerOptions) run(cmd *cobra.Command, _ []string) error {
	if o.Join == "" {
		return console.Usage(cmd, "name the server with --join, such as --join tls://HOST:4222; merit fleet serve starts one", "a worker needs a server")
	}
	ctx := cmd.Context()
	log := o.host.Logger()
	work := fleet.WorkOptions{
		Join: o.Join, Access: o.config(), Name: o.Name, Slots: o.Slots, Labels: o.Labels, Child: o.WithParent, Grants: fleet.Grants{Variables: o.PassEnv},
		Options: []merit.Option{merit.WithLogger(log)}, Getenv: o.host.Env, Log: log,
	}
	var err error
	if work.Plugins, err = o.allowed(log); err != nil {
		return err
	}
	if o.WithParent {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		stop := make(chan struct{})
		work.Stop = stop
		go func() {
			_, _ = io.Copy(io.Discard, o.host.Stdin) // wait for the end of the input
			close(stop)
			cancel()
		}()
	}
	if !o.host.Global.Quiet {
		build, err := fleet.Build()
		if err != nil {
			return err
		}
		fmt.Fprintf(o.host.Stderr, "worker of build %s joins %s\n", build, o.Join)
		work.OnState = o.progress()
	}
	if o.Metrics != "" {
		work.Gauges = fleet.NewWorkerGauges()
		s, err := outlets.Serve(o.Metrics, work.Gauges.Handler(), log)
		if err != nil {
			return err
		}
		defer s.Close()
		if !o.host.Global.Quiet {
			fmt.Fprintln(o.host.Stderr, "metrics at "+s.URL()+"/metrics")
		}
	}
	return fleet.Work(ctx, work)
}

// allowed returns the digests of the plug-ins that jobs may run: those installed on this
// machine and those that --allow-plugin names. Nil means all.
func (o *workerOptions) allowed(log *slog.Logger) ([]string, error) {
	if slices.Contains(o.Allow, anyPlugin) {
		return nil, nil
	}
	list := []string{}
	for _, digest := range o.Allow {
		if err := disk.CheckDigest(digest); err != nil {
			return nil, fmt.Errorf("--allow-plugin %s: %w", digest, err)
		}
		list = append(list, digest)
	}
	here, err := disk.List(merit.PluginFolders(o.host.Env)...)
	for _, p := range here {
		if digest, err := disk.Digest(p.Path); err == nil {
			list = append(list, "sha256:"+digest)
		}
	}
	if err != nil {
		log.Debug("some plug-ins on this machine cannot be read", "cause", err)
	}
	return list, nil
}

// progress returns a function that prints the worker's progress every now and then, and when it
// starts to drain.
func (o *workerOptions) progress() func(queue.Worker) {
	var mutex sync.Mutex
	var last time.Time
	drains := false
	return func(w queue.Worker) {
		mutex.Lock()
		defer mutex.Unlock()
		switch {
		case w.Drains && !drains:
			drains = true
			fmt.Fprintf(o.host.Stderr, "%s is draining: %s in progress\n", w.Name, terminal.Count(w.Busy, "shard"))
		case !w.Drains && w.Done > 0 && w.Busy == 0 || time.Since(last) > 10*time.Second:
			if now := time.Now(); now.Sub(last) > 2*time.Second {
				last = now
				fmt.Fprintf(o.host.Stderr, "%s: %d of %d slots busy, %d shards done, %d failed, %.2f s each\n", w.Name, w.Busy, w.Slots, w.Done, w.Failed, w.Seconds)
			}
		}
	}
}
