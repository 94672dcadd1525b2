package enginecmd

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/engine"
)

type upOptions struct {
	host   *console.Host
	Engine string `flag:"engine" usage:"skyrl or llama.cpp"`
	place
	Data    string `flag:"data" usage:"where the server keeps log, database and checkpoints (default: data in the engine's folder)"`
	model   string
	running engine.Options
}

func newUpCmd(h *console.Host) *cobra.Command {
	o := &upOptions{host: h}
	cmd := console.Verb(&cobra.Command{
		Use:   "up [-- COMMAND ARGUMENT...]",
		Short: "Run an engine until Ctrl-C, or while a command runs",
		Long: `Up serves a model on 127.0.0.1. When the server is ready, it prints what to write into a
configuration. Ctrl-C stops the server; a second Ctrl-C stops it at once. The output of
the server goes to server.log in its data folder. A training server also keeps its
checkpoints there, and can load them when you start it again with the same data.

If you give a command after --, up runs it when the server is ready, stops the server
when the command exits, and exits with the command's exit code.`,
		Example: "  merit engine up --engine skyrl --model smollm2\n  merit engine up --engine llama.cpp --model smollm2 --slots 4\n" +
			"  merit engine up --engine skyrl --model smollm2 -- merit train -c train.yaml",
		Args: onlyCommand,
		RunE: o.run,
	}, o)
	d := engine.SkyRL().DefaultOptions("")
	f, r := cmd.Flags(), &o.running
	f.StringVar(&o.model, "model", "", engine.SmolLM2+", a Hugging Face folder (skyrl), or a file in GGUF (llama.cpp)")
	f.IntVar(&r.Port, "port", 0, "on 127.0.0.1 (default 8000 for skyrl, 8080 for llama.cpp)")
	f.IntVar(&r.Slots, "slots", d.Slots, "number of sequences to sample and train at once")
	f.IntVar(&r.Rank, "rank", d.Rank, "skyrl: the highest rank of an adapter")
	f.IntVar(&r.Models, "models", d.Models, "skyrl: number of models to train at the same time")
	f.IntVar(&r.Context, "context", d.Context, "llama.cpp: maximum tokens of a request and its answer")
	f.IntVar(&r.Threads, "threads", d.Threads, "llama.cpp: threads; more than one helps only if the machine is otherwise idle")
	console.Values(cmd, "engine", names()...)
	console.Values(cmd, "model", engine.SmolLM2)
	console.Needs(cmd, "engine", "model")
	return cmd
}

func (o *upOptions) run(cmd *cobra.Command, command []string) error {
	e, err := engine.Find(o.Engine)
	if err != nil {
		return err
	}
	folder, err := o.folder(o.host)
	if err != nil {
		return err
	}
	options, err := o.options(cmd, e, folder)
	if err != nil {
		return err
	}
	if err := e.Installed(folder); err != nil {
		return err
	}
	ctx, say := cmd.Context(), steps(o.host)
	model, err := e.Model(ctx, o.model, engine.InstallOptions{Folder: folder, Say: say})
	if err != nil {
		return err
	}
	begun := o.host.Now()
	say("starting " + e.Title + "; it logs to " + filepath.Join(options.Data, "server.log"))
	server, err := e.Start(ctx, model, options)
	if err != nil {
		return err
	}
	defer server.Stop()
	took := o.host.Now().Sub(begun)
	if len(command) > 0 {
		say(fmt.Sprintf("%s is ready (%s)", e.Title, took.Round(time.Second/10)))
		return o.while(ctx, server, command)
	}
	if err := o.ready(e, server, took); err != nil {
		return err
	}
	return until(ctx, server)
}

// options returns the values of the flags, with the engine's defaults for the rest.
func (o *upOptions) options(cmd *cobra.Command, e engine.Engine, folder string) (engine.Options, error) {
	d := e.DefaultOptions(folder)
	options := o.running
	options.Folder, options.Data = folder, d.Data
	if !cmd.Flags().Changed("port") {
		options.Port = d.Port
	}
	if o.Data == "" {
		return options, nil
	}
	var err error
	options.Data, err = filepath.Abs(o.Data)
	return options, err
}

// ready prints that the server answers, and how to name it in a configuration.
func (o *upOptions) ready(e engine.Engine, s *engine.Server, took time.Duration) error {
	if o.host.Global.JSON {
		return o.host.PrintJSON(map[string]string{"engine": e.Name, "url": s.URL, "model": s.Model.Name, "log": s.Log})
	}
	lines := "policy: {plugin: openai, options: {url: \"%s/v1\", model: \"%s\"}}\n"
	if e.Tinker {
		lines = "policy: {plugin: tinker, options: {url: \"%s\", base_model: \"%s\"}}\n"
	}
	_, err := fmt.Fprintf(o.host.Stdout, "%s is ready (%s). In a configuration:\n\n"+lines+"\nPress Ctrl-C to stop it.\n",
		e.Title, took.Round(time.Second/10), s.URL, s.Model.Name)
	return err
}

// until waits for the server to exit. It returns no error if the user stopped it.
func until(ctx context.Context, s *engine.Server) error {
	select {
	case <-ctx.Done():
		s.Stop()
		return nil
	case <-s.Exited():
		return s.Err()
	}
}
