// Package fleetcmd holds the verbs of fleets: worker, which computes for one, and
// fleet, which looks after one; and the flags by which other verbs have one work.
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
	Name       string   `flag:"name" usage:"name among the workers (default the host's, with a random end)"`
	Slots      int      `flag:"slots" usage:"how much is computed at one time; 0 is one for each processor"`
	Labels     []string `flag:"label" usage:"what this worker carries, such as gpu, for runs that want it (repeatable)"`
	Allow      []string `flag:"allow-plugin" usage:"a plug-in that may run here: sha256:…, or any (repeatable)"`
	PassEnv    []string `flag:"pass-env" usage:"a variable of this environment that jobs may have (repeatable, or with commas)" split:"yes"`
	Metrics    string   `flag:"metrics" usage:"show the worker to Prometheus at this HOST:PORT, under /metrics, with /healthz and /readyz for probes; :PORT is this machine alone"`
	WithParent bool     `flag:"with-parent" usage:"end when standard input does"`
	// What a worker had when it kept contents on disk.
	Cache    string `flag:"cache" usage:"no effect"`
	CacheMiB int64  `flag:"cache-mib" usage:"no effect"`
}

// access is by what a process proves itself to a server.
type access struct {
	Key     string `flag:"key" usage:"file with this end's key (default $MERIT_FLEET_KEY)" files:"key,nk"`
	CA      string `flag:"ca" usage:"PEM file of the authority whose certificates are believed, for tls://" files:"pem,crt"`
	Cert    string `flag:"tls-cert" usage:"PEM file of this end's own certificate, if the server wants one" files:"pem,crt"`
	CertKey string `flag:"tls-key" usage:"PEM file of its key" files:"key,pem"`
}

func (a access) config() fleet.Config {
	return fleet.Config{Key: a.Key, CA: a.CA, Cert: a.Cert, CertKey: a.CertKey}
}

// renamed takes the names that two flags had before all servers had the same.
func renamed(cmd *cobra.Command) *cobra.Command {
	console.Renamed(cmd, "cert", "tls-cert")
	console.Renamed(cmd, "cert-key", "tls-key")
	return cmd
}

// anyPlugin allows all of them.
const anyPlugin = "any"

// newWorkerCmd is the verb fleet worker.
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
			panic(err) // a misspelt flag
		}
	}
	return cmd
}

func (o *workerOptions) run(cmd *cobra.Command, _ []string) error {
	if o.Join == "" {
		return console.Usage(cmd, "name the server with --join", "a worker needs a server")
	}
	ctx := cmd.Context()
	log := o.host.Logger()
	work := fleet.WorkOptions{
		Join: o.Join, Access: o.config(), Name: o.Name, Slots: o.Slots, Labels: o.Labels, Lent: fleet.Lent{Variables: o.PassEnv},
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
			_, _ = io.Copy(io.Discard, o.host.Stdin) // its end is what counts
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
		work.OnState = o.told()
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

// allowed lists the plug-ins that may run: those of this machine, and those that
// were named; nil is all.
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
		log.Debug("some plug-ins of this machine cannot be read", "cause", err)
	}
	return list, nil
}

// told says what a person wants to know of a worker: that it works, every now and
// then how much it has done, and that it goes.
func (o *workerOptions) told() func(queue.Worker) {
	var mutex sync.Mutex
	var last time.Time
	drains := false
	return func(w queue.Worker) {
		mutex.Lock()
		defer mutex.Unlock()
		switch {
		case w.Drains && !drains:
			drains = true
			fmt.Fprintf(o.host.Stderr, "%s drains: %d under way\n", w.Name, w.Busy)
		case !w.Drains && w.Done > 0 && w.Busy == 0 || time.Since(last) > 10*time.Second:
			if now := time.Now(); now.Sub(last) > 2*time.Second {
				last = now
				fmt.Fprintf(o.host.Stderr, "%s: %d of %d slots busy, %d shards done, %d failed, %.2f s each\n", w.Name, w.Busy, w.Slots, w.Done, w.Failed, w.Seconds)
			}
		}
	}
}
