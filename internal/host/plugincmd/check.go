package plugincmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/checks"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/contracts/envcontract"
	"github.com/merit-rl/merit/internal/contracts/policycontract"
	"github.com/merit-rl/merit/internal/host"
)

type checkOptions struct {
	host    *console.Host
	Options string   `flag:"options" usage:"the plug-in's options, a JSON object"`
	Slots   int      `flag:"slots" usage:"number of slots of the environment"`
	Say     []string `flag:"say" usage:"text to send to an environment that takes free text (repeatable)"`
	Actions []string `flag:"actions" usage:"actions that the policy chooses from; without them, it answers in free text" split:"yes"`
	Few     bool     `flag:"few" usage:"ask the policy for few decisions, for a policy whose decisions cost money"`
}

func newCheckCmd(h *console.Host) *cobra.Command {
	o := &checkOptions{host: h, Actions: []string{"left", "right", "wait"}, Slots: 5}
	return console.Verb(&cobra.Command{
		Use:   "check NAME|PATH",
		Short: "Test that a plug-in keeps its contract",
		Long: `Check starts the plug-in several times and tests what a training run relies on:
determinism by seed, isolation between slots, separate terminated and truncated flags,
masks, shapes, finite numbers, UTF-8, messages, snapshots if it offers them, and
recovery. It prints one line per promise: ok, failed or skipped. A failure says where,
why and what to do. The last line shows how fast the environment steps.

If an environment takes free text as actions, check sends the texts of --say in turn.
Without --say, it sends typical answers of models and calls of the environment's own
tools. For a policy, check makes up observations with the actions of --actions.`,
		Example: "  merit plugin check ./maze\n  merit plugin check ./riddles.py --say 'a candle' --say 'the wind'",
		Args:    console.Exactly("NAME|PATH"),
		RunE:    o.run,
	}, o)
}

// line is the result of one promise, for --json.
type line struct {
	Promise string `json:"promise"`
	Result  string `json:"result"` // ok, failed or skipped
	Why     string `json:"why,omitempty"`
	Where   string `json:"where,omitempty"`
	Hint    string `json:"hint,omitempty"`
	Note    string `json:"note,omitempty"`
}

func (o *checkOptions) run(cmd *cobra.Command, args []string) error {
	if err := validOptions(cmd, o.Options); err != nil {
		return err
	}
	path, err := find(o.host, args[0])
	if err != nil {
		return err
	}
	found, err := ask(cmd.Context(), path, "")
	if err != nil {
		return err
	}
	var results []checks.Result
	if found.Kind == host.Policy {
		results, err = o.policy(cmd.Context(), path)
	} else {
		results, err = o.environment(cmd.Context(), path)
	}
	if err != nil {
		return err
	}
	return o.report(found, results)
}

// validOptions returns an error if --options is not JSON.
func validOptions(cmd *cobra.Command, options string) error {
	if options != "" && !json.Valid([]byte(options)) {
		return console.Usage(cmd, `write a JSON object, such as --options '{"size": 4}'`, "--options is not JSON")
	}
	return nil
}

// config returns how to start the environment. It allows a slow reset, because an
// environment may generate its tasks.
func (o *checkOptions) config(path string) host.Config {
	cfg := host.DefaultConfig()
	cfg.Path, cfg.Slots, cfg.Log = path, o.Slots, o.host.Logger()
	cfg.StartTimeout, cfg.BatchDeadline, cfg.ResetDeadline = time.Minute, time.Minute, time.Minute
	if o.Options != "" {
		cfg.Options = json.RawMessage(o.Options)
	}
	return cfg
}

func (o *checkOptions) environment(ctx context.Context, path string) ([]checks.Result, error) {
	cfg := o.config(path)
	if _, err := host.Check(ctx, cfg); err != nil {
		return nil, err // the options are invalid, so nothing can be tested
	}
	open := func(ctx context.Context) (env.Env, error) { return host.Open(ctx, cfg) }
	results, err := envcontract.Run(ctx, open, envcontract.Options{Texts: o.Say})
	if err != nil {
		return nil, err
	}
	cfg.Slots = 64
	rate, err := measure(ctx, cfg, o.Say, 500*time.Millisecond)
	if err != nil {
		return results, nil // the errors are printed above
	}
	return append(results, checks.Result{Promise: "speed", Note: steps(rate) + " with 64 slots"}), nil
}

func (o *checkOptions) policy(ctx context.Context, path string) ([]checks.Result, error) {
	cfg := host.DefaultPolicyConfig()
	cfg.Path, cfg.Actions, cfg.Log, cfg.Getenv = path, o.Actions, o.host.Logger(), o.host.Env
	if o.Options != "" {
		cfg.Options = json.RawMessage(o.Options)
	}
	p, err := host.OpenPolicy(ctx, cfg)
	if err != nil {
		return nil, err
	}
	results, err := policycontract.Run(ctx, policycontract.Subject{Policy: p, Few: o.Few, Observe: o.observe})
	return results, errors.Join(err, p.Close())
}

// observe makes up an observation.
func (o *checkOptions) observe(i int) policy.Observation {
	text := fmt.Sprintf("You stand at crossing %d of the maze. Where do you go?", i)
	return policy.Observation{
		Messages: []rl.Message{{Role: rl.RoleSystem, Content: rl.Text("Find the way out.")}, {Role: rl.RoleUser, Content: rl.Text(text)}},
		Text:     text, Actions: o.Actions,
	}
}

// report prints the results. It returns an error if any failed.
func (o *checkOptions) report(found host.Found, results []checks.Result) error {
	var lines []line
	failed := 0
	for _, r := range results {
		l := line{Promise: r.Promise, Result: "ok", Note: r.Note}
		switch {
		case r.Err != nil:
			failed++
			l.Result, l.Why = "failed", r.Err.Error()
			if f := fault.As(r.Err); f != nil {
				l.Where, l.Hint = f.Where, f.Hint
			}
		case r.Skipped != "":
			l.Result, l.Why = "skipped", r.Skipped
		}
		lines = append(lines, l)
	}
	if o.host.Global.JSON {
		err := o.host.PrintJSON(struct {
			Name    string `json:"name"`
			Version string `json:"version"`
			Kind    string `json:"kind"`
			Digest  string `json:"digest"`
			Results []line `json:"results"`
		}{found.Name, found.Version, found.Kind, "sha256:" + found.Digest, lines})
		if err != nil {
			return err
		}
	} else {
		o.print(lines)
	}
	if failed == 0 {
		return nil
	}
	return &fault.Error{
		Boundary: fault.Plugin, Kind: fault.Protocol, Where: found.Name, What: fmt.Sprintf("breaks %d of %d promises", failed, len(results)),
		Hint: "correct the first failure above first: later ones may follow from it",
	}
}

func (o *checkOptions) print(lines []line) {
	style := o.host.OutStyle()
	for _, l := range lines {
		word := fmt.Sprintf("%-7s", l.Result)
		if l.Result == "failed" {
			word = style.Red(word)
		}
		text := l.Promise
		if extra := l.Note + l.Why; extra != "" && l.Result != "failed" {
			text += ": " + extra
		}
		fmt.Fprintf(o.host.Stdout, "%s  %s\n", word, terminal.Clean(text))
		if l.Result == "failed" {
			fmt.Fprintf(o.host.Stdout, "         %s\n         hint: %s\n", terminal.Clean(l.Why), terminal.Clean(l.Hint))
		}
	}
}
