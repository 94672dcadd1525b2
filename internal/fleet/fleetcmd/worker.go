// Package fleetcmd holds the verbs of fleets: worker, which computes for one, and
// fleet, which looks after one; and the flags by which other verbs have one work.
package fleetcmd

import (
	"context"
	"fmt"
	"io"
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
	host       *console.Host
	work       fleet.WorkOptions
	allow      []string
	metrics    string
	withParent bool
}

// anyPlugin allows all of them.
const anyPlugin = "any"

// NewWorkerCmd is the verb worker.
func NewWorkerCmd(h *console.Host) *cobra.Command {
	o := &workerOptions{host: h}
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Play and score episodes for runs on other machines",
		Long: `Worker joins the fleet of a server and computes what coordinators ask for, such
as merit train --fleet: it plays groups of episodes, scores them in its sandbox,
and gives them back. What a job is made of comes over the network by digest.

A coordinator may send plug-ins, which are programs. A worker runs those that are
installed here, too, byte for byte, and others only if --allow-plugin names them:
their digests, or any for whatever coordinators send. It may ask for variables of
this worker's environment, such as the key of a judge (pass_env, key_env): it gets
those that --pass-env names, and no job that asks for others is begun.

It is the same merit that must run on both ends; another build is refused. Ctrl-C
and SIGTERM let the worker finish what it has, and end it with exit code 0; twice
ends it at once. What it had is then computed by another.`,
		Example: "  merit worker --join nats://127.0.0.1:4222 --key worker.key\n  merit worker --join tls://trainer.example:4222 --key worker.key --ca ca.pem --slots 8 --label gpu",
		Args:    console.NoArgs,
		RunE:    o.run,
	}
	f := cmd.Flags()
	f.StringVar(&o.work.Join, "join", "", "address of the server: nats://HOST:PORT or tls://HOST:PORT")
	access(cmd, &o.work.Access)
	f.StringVar(&o.work.Name, "name", "", "name among the workers (default the host's, with a random end)")
	f.IntVar(&o.work.Slots, "slots", 0, "how much is computed at one time; 0 is one for each processor")
	f.StringArrayVar(&o.work.Labels, "label", nil, "what this worker carries, such as gpu, for runs that want it (repeatable)")
	f.StringArrayVar(&o.allow, "allow-plugin", nil, "a plug-in that may run here: sha256:…, or any (repeatable)")
	f.StringSliceVar(&o.work.Variables, "pass-env", nil, "a variable of this environment that jobs may have (repeatable, or with commas)")
	f.String("cache", "", "no effect: a worker keeps nothing of a job when it ends")
	f.Int64("cache-mib", 0, "no effect, as --cache")
	f.StringVar(&o.metrics, "metrics", "", "show the worker to Prometheus at this HOST:PORT, under /metrics, with /healthz and /readyz for probes; :PORT is this machine alone")
	f.BoolVar(&o.withParent, "with-parent", false, "end when standard input does")
	for _, name := range []string{"with-parent", "cache", "cache-mib"} {
		if err := f.MarkHidden(name); err != nil {
			panic(err) // a misspelt flag
		}
	}
	return cmd
}

// access adds the flags by which a process proves itself to a server.
func access(cmd *cobra.Command, c *fleet.Config) {
	f := cmd.Flags()
	f.StringVar(&c.Key, "key", "", "file with this end's key (default $"+fleet.KeyVariable+")")
	f.StringVar(&c.CA, "ca", "", "PEM file of the authority whose certificates are believed, for tls://")
	f.StringVar(&c.Cert, "tls-cert", "", "PEM file of this end's own certificate, if the server wants one")
	f.StringVar(&c.CertKey, "tls-key", "", "PEM file of its key")
	renamed(cmd)
	console.Files(cmd, "key", "key", "nk")
	console.Files(cmd, "ca", "pem", "crt")
}

// renamed takes the names that two flags had before all servers had the same.
func renamed(cmd *cobra.Command) {
	console.Files(cmd, "tls-cert", "pem", "crt")
	console.Files(cmd, "tls-key", "key", "pem")
	console.Renamed(cmd, "cert", "tls-cert")
	console.Renamed(cmd, "cert-key", "tls-key")
}

func (o *workerOptions) run(cmd *cobra.Command, _ []string) error {
	if o.work.Join == "" {
		return console.Usage(cmd, "name the server with --join", "a worker needs a server")
	}
	ctx := cmd.Context()
	o.work.Log, o.work.Getenv = o.host.Logger(), o.host.Env
	o.work.Options = []merit.Option{merit.WithLogger(o.work.Log)}
	var err error
	if o.work.Plugins, err = o.allowed(); err != nil {
		return err
	}
	if o.withParent {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		stop := make(chan struct{})
		o.work.Stop = stop
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
		fmt.Fprintf(o.host.Stderr, "worker of build %s joins %s\n", build, o.work.Join)
		o.work.OnState = o.told()
	}
	if o.metrics != "" {
		o.work.Gauges = fleet.NewWorkerGauges()
		s, err := outlets.Serve(o.metrics, o.work.Gauges.Handler(), o.work.Log)
		if err != nil {
			return err
		}
		defer s.Close()
		if !o.host.Global.Quiet {
			fmt.Fprintln(o.host.Stderr, "metrics at "+s.URL()+"/metrics")
		}
	}
	return fleet.Work(ctx, o.work)
}

// allowed lists the plug-ins that may run: those of this machine, and those that
// were named; nil is all.
func (o *workerOptions) allowed() ([]string, error) {
	if slices.Contains(o.allow, anyPlugin) {
		return nil, nil
	}
	list := []string{}
	for _, digest := range o.allow {
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
		o.work.Log.Debug("some plug-ins of this machine cannot be read", "cause", err)
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
